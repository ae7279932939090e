#include "quern/lab/bench_lists.hpp"

#include <fmt/format.h>

#include <random>

#include "quern/codec/short_list.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

constexpr std::uint64_t shortest = max_short_list + 1;

struct Grouping {
  std::string_view name;
  std::vector<std::uint64_t> starts;
};

std::vector<std::uint64_t> doubling_starts() {
  std::vector<std::uint64_t> starts = {shortest};
  for (std::uint64_t start = 2 * max_short_list; start < end_docid; start *= 2) starts.push_back(start);
  return starts;
}

const std::vector<Grouping>& all_groupings() {
  static const std::vector<Grouping> groupings = {
      {"classes", {shortest, 100, 1'000, 10'000}}, {"doubling", doubling_starts()}, {"all", {shortest}}};
  return groupings;
}

}  // namespace

void BenchLists::add(std::span<const docid_t> docids, std::span<const freq_t> freqs_) {
  docid_t before = end_docid;
  for (std::size_t i = 0; i < docids.size(); ++i) {
    gaps.push_back(docids[i] - before - 1);
    freqs.push_back(freqs_[i] - 1);
    before = docids[i];
  }
  if (!docids.empty()) ends.push_back(gaps.size());
}

BenchLists clustered_lists(std::size_t postings, std::size_t length, double mean_gap, std::uint64_t seed) {
  BenchLists lists;
  std::mt19937_64 random(seed);
  std::geometric_distribution<std::uint32_t> near(0.5), far(1 / (1 + 4 * mean_gap)), freq(0.6);
  for (std::size_t i = 0; i < postings; ++i) {
    if (i != 0 && i % length == 0) lists.ends.push_back(i);
    lists.gaps.push_back(random() % 4 == 0 ? far(random) : near(random));
    lists.freqs.push_back(freq(random));
  }
  if (postings != 0) lists.ends.push_back(postings);
  return lists;
}

std::vector<std::string> length_groupings() { return names_of(all_groupings()); }

std::vector<LengthGroup> length_groups(std::string_view name) {
  std::vector<LengthGroup> groups;
  for (const std::uint64_t start : find_named(all_groupings(), name, "grouping of lists").starts) {
    if (!groups.empty()) groups.back().to = start;
    groups.push_back({start, 0, {}});
  }
  return groups;
}

void fill_groups(const IndexReader& index, std::uint64_t max_postings, std::span<LengthGroup> groups) {
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
  const auto add = [&](std::string_view, const PostingList& list) {
    docids.clear();
    for (LengthGroup& group : groups) {
      if (list.df < group.from || (group.to != 0 && list.df >= group.to)) continue;
      if (group.lists.size() + list.df > max_postings) continue;
      if (docids.empty()) {
        freqs.clear();
        for_each_block(index, list, [&](BlockReader& block) {
          docids.insert(docids.end(), block.docids().begin(), block.docids().end());
          freqs.insert(freqs.end(), block.freqs().begin(), block.freqs().end());
        });
      }
      group.lists.add(docids, freqs);
    }
  };
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) index.for_each_list(block, add);
}

}  // namespace quern
