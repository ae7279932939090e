#include "quern/index/weight_sections.hpp"

#include <algorithm>
#include <vector>

#include "quern/codec/impact_packing.hpp"
#include "quern/codec/short_list.hpp"

namespace quern {

WeightSections::WeightSections(const ImpactSettings& settings, unsigned block_size, const Resources& resources)
    : settings_(settings),
      block_size_(block_size),
      resources_(resources),
      weights_(resources.tmp_folder),
      rows_(resources.tmp_folder) {}

void WeightSections::add(const EncodedBatch& batch) {
  batch.spooled_weights.bytes().for_each_piece([&](ByteView piece) {
    weights_.add_all({reinterpret_cast<const std::uint16_t*>(piece.data()), piece.size() / sizeof(std::uint16_t)});
  });
  weights_.add_all(batch.weights);
}

void WeightSections::end_list(const EncodedList& list) {
  if (list.df <= max_short_list) return;
  // Exact, as the impact is.
  const auto max_weight = static_cast<std::uint32_t>(list.max_impact * settings_.unit());
  rows_.add({static_cast<std::uint32_t>(list.df), max_weight});
}

void WeightSections::write(IndexImpactWriter& writer) const {
  constexpr std::size_t words_per_write = 1 << 15;
  resources_.progress->start("impacts", weights_.count(), "postings");
  std::vector<std::uint16_t> stored;
  std::vector<std::uint32_t> block;
  Words words;
  std::uint64_t first = 0;
  rows_.for_each([&](const Row& list) {
    const unsigned width = impact_width_of(list.max_weight);
    writer.begin_list(width);
    for (std::uint64_t left = list.df; left > 0; left -= block.size()) {
      stored.resize(std::min<std::uint64_t>(left, block_size_));
      weights_.read(first, stored);
      first += stored.size();
      block.assign(stored.begin(), stored.end());
      put_impacts(block, width, words);
      if (words.size() < words_per_write && left > block.size()) continue;
      writer.add_impacts(words);
      words.clear();
    }
    resources_.progress->add(list.df);
  });
  resources_.progress->finish();
}

}  // namespace quern
