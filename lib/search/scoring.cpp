#include "quern/search/scoring.hpp"

#include "quern/codec/bit_packing.hpp"

namespace quern {

void ListScorer::term_scores(BlockReader& reader, float* out) const {
  const auto docids = reader.docids();
  if (quantizer_ && !reader.list().is_short()) {
    const auto integers = reader.quantized_impacts();
    for (std::size_t i = 0; i < integers.size(); ++i) out[i] = weight_ * static_cast<float>(integers[i]);
    return;
  }
  const auto freqs = reader.freqs();
  if (quantizer_) {
    for (std::size_t i = 0; i < docids.size(); ++i) out[i] = short_list_score(freqs[i], docids[i]);
    return;
  }
  kernels_.term_scores(freqs.data(), docids.data(), docids.size(), {constants_.data(), weight_}, out);
  if (static_scores_.empty()) return;
  for (std::size_t i = 0; i < docids.size(); ++i) out[i] += static_scores_[docids[i]];
}

void ListScorer::term_scores_at(BlockReader& reader, std::size_t block, const docid_t* docids,
                                std::span<const std::uint16_t> places, float* out) const {
  if (quantizer_ && !reader.list().is_short()) {
    for (std::size_t i = 0; i < places.size(); ++i)
      out[i] = weight_ * static_cast<float>(reader.quantized_impact(block, places[i]));
    return;
  }
  std::array<freq_t, max_wanted + kernel_slack> freqs;
  reader.read_freqs(block, places, freqs.data());
  if (quantizer_) {
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = short_list_score(freqs[i], docids[i]);
    return;
  }
  kernels_.term_scores(freqs.data(), docids, places.size(), {constants_.data(), weight_}, out);
  if (static_scores_.empty()) return;
  for (std::size_t i = 0; i < places.size(); ++i) out[i] += static_scores_[docids[i]];
}

float ListScorer::list_bound(BlockReader& reader) const {
  if (!reader.list().is_short()) return long_list_bound(reader.list());
  std::array<float, max_block_size + over_write_values> scores;
  term_scores(reader, scores.data());
  return *std::max_element(scores.begin(), scores.begin() + reader.size());
}

ScoringOptions scoring_of_index(const IndexReader& index, const GivenScoring& given) {
  const IndexManifest& manifest = index.manifest();
  ScoringOptions options;
  options.bm25 = {given.k1.value_or(manifest.bm25.k1), given.b.value_or(manifest.bm25.b)};
  if (!index.global_scores().empty() && manifest.scores) options.alpha = manifest.scores->alpha;
  options.alpha = given.alpha.value_or(options.alpha);
  return options;
}

}  // namespace quern
