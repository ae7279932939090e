#include "quern/lab/list_profile.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "quern/codec/short_list.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/lab/measuring.hpp"
#include "quern/plan/query_dispatcher.hpp"
#include "quern/plan/schedule_simulation.hpp"
#include "quern/search/algorithm.hpp"

namespace quern {
namespace {

constexpr std::array<std::uint64_t, 5> class_starts = {1, 17, 1'000, 10'000, 100'000};
constexpr std::size_t octaves = 33;
constexpr std::size_t compared_blocks = 8;
/// Ratios of block maxima are counted in steps of 1 / ratio_steps.
constexpr std::size_t ratio_steps = 1000;

std::size_t class_of(std::uint64_t df) {
  std::size_t i = class_starts.size() - 1;
  while (df < class_starts[i]) --i;
  return i;
}

std::size_t freq_class(freq_t freq) {
  return std::min<std::size_t>(freq_classes - 1, static_cast<std::size_t>(std::bit_width(freq - 1)));
}

double log2_binomial(double n, double k) {
  return (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) / std::log(2.0);
}

/// Counts for the lists in one octave of df: integers, so that the order of addition does not matter.
struct OctaveCounts {
  std::array<std::uint64_t, octaves> gap_magnitudes = {};
  std::array<std::uint64_t, freq_classes> freqs = {};
  std::uint64_t lists = 0, postings = 0, tokens = 0;
};

struct Counts {
  /// By class and octave of df.
  std::array<std::array<OctaveCounts, octaves>, class_starts.size()> lists = {};
  std::vector<std::uint64_t> dfs = std::vector<std::uint64_t>(1 << 12);  ///< number of lists by small df
  std::vector<std::uint64_t> long_dfs;
  std::array<std::uint64_t, ratio_steps + 1> block_maxima = {};
};

void count_list(const IndexReader& index, const PostingList& list, Counts& counts) {
  OctaveCounts& octave = counts.lists[class_of(list.df)][static_cast<std::size_t>(std::bit_width(list.df)) - 1];
  ++octave.lists;
  octave.postings += list.df;
  octave.tokens += list.cf;
  if (list.df < counts.dfs.size())
    ++counts.dfs[list.df];
  else
    counts.long_dfs.push_back(list.df);
  docid_t before = end_docid;
  for_each_block(index, list, [&](BlockReader& block) {
    for (const docid_t docid : block.docids()) {
      ++octave.gap_magnitudes[static_cast<std::size_t>(std::bit_width(docid - before)) - 1];
      before = docid;
    }
    for (const freq_t freq : block.freqs().first(block.size())) ++octave.freqs[freq_class(freq)];
  });
  if (list.block_max.size() < compared_blocks) return;
  for (const std::uint16_t stored : list.block_max) {
    const double ratio = std::min(1.0, static_cast<double>(dequantize_up(stored) / list.max_impact));
    ++counts.block_maxima[static_cast<std::size_t>(ratio * ratio_steps)];
  }
}

void add(Counts& to, const Counts& from) {
  const auto add_all = [](auto& sums, const auto& numbers) {
    std::transform(sums.begin(), sums.end(), numbers.begin(), sums.begin(), std::plus<>());
  };
  for (std::size_t c = 0; c < class_starts.size(); ++c) {
    for (std::size_t o = 0; o < octaves; ++o) {
      OctaveCounts& sum = to.lists[c][o];
      const OctaveCounts& part = from.lists[c][o];
      add_all(sum.gap_magnitudes, part.gap_magnitudes);
      add_all(sum.freqs, part.freqs);
      sum.lists += part.lists;
      sum.postings += part.postings;
      sum.tokens += part.tokens;
    }
  }
  add_all(to.dfs, from.dfs);
  add_all(to.block_maxima, from.block_maxima);
  to.long_dfs.insert(to.long_dfs.end(), from.long_dfs.begin(), from.long_dfs.end());
}

/// Adds to the sums that divide() turns into means.
void add_octave(ListClassProfile& profile, const OctaveCounts& octave) {
  profile.lists += octave.lists;
  profile.postings += octave.postings;
  profile.mean_freq += static_cast<double>(octave.tokens);
  for (std::size_t i = 0; i < freq_classes; ++i) profile.freq_shares[i] += static_cast<double>(octave.freqs[i]);
  for (std::size_t magnitude = 0; magnitude < octaves; ++magnitude) {
    const auto count = static_cast<double>(octave.gap_magnitudes[magnitude]);
    if (count == 0) continue;
    profile.gap_entropy_bits +=
        count * (static_cast<double>(magnitude) - std::log2(count / static_cast<double>(octave.postings)));
  }
}

void divide(ListClassProfile& profile) {
  const double postings = std::max<double>(1, static_cast<double>(profile.postings));
  for (double* sum : {&profile.gap_entropy_bits, &profile.random_bits, &profile.mean_freq}) *sum /= postings;
  for (double& share : profile.freq_shares) share /= postings;
}

template <class Value>
Percentiles percentiles(std::vector<Value> values, double unit) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return static_cast<double>(values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]) / unit;
  };
  return {at(0.1), at(0.5), at(0.9), at(0.99)};
}

Percentiles percentiles_of_steps(const std::array<std::uint64_t, ratio_steps + 1>& counts, std::uint64_t total) {
  const auto at = [&](double share) {
    std::uint64_t passed = 0;
    std::size_t step = 0;
    while (step < ratio_steps && static_cast<double>(passed += counts[step]) < share * static_cast<double>(total))
      ++step;
    return static_cast<double>(step) / ratio_steps;
  };
  return {at(0.1), at(0.5), at(0.9), at(0.99)};
}

std::uint64_t count_common(const IndexReader& index, const PostingList& a, const PostingList& b) {
  PostingCursor first(index, a), second(index, b);
  std::uint64_t common = 0;
  while (first.docid() != end_docid) {
    second.next_geq(first.docid());
    if (second.docid() == first.docid()) {
      ++common;
      first.next();
    } else if (second.docid() == end_docid) {
      break;
    } else {
      first.next_geq(second.docid());
    }
  }
  return common;
}

/// Returns the postings of the query's lists.
std::uint64_t add_pairs(const IndexReader& index, QueryView query, std::vector<double>& ratios) {
  std::vector<PostingList> lists;
  std::uint64_t postings = 0;
  find_lists(index, query, false, [&](const PostingList& list, double) {
    lists.push_back(list);
    postings += list.df;
  });
  std::sort(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.df < b.df; });
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (std::size_t j = i + 1; j < lists.size(); ++j)
      ratios.push_back(static_cast<double>(count_common(index, lists[i], lists[j])) * index.num_documents() /
                       (static_cast<double>(lists[i].df) * static_cast<double>(lists[j].df)));
  return postings;
}

void profile_pairs(const IndexReader& index, std::span<const QueryView> queries, ListProfile& profile) {
  std::vector<std::vector<double>> ratios(queries.size());
  std::atomic<std::uint64_t> postings = 0;
  tbb::parallel_for(std::size_t{0}, queries.size(),
                    [&](std::size_t i) { postings += add_pairs(index, queries[i], ratios[i]); });
  profile.postings_per_query = static_cast<double>(postings) / std::max<double>(1, static_cast<double>(queries.size()));
  std::vector<double> all;
  for (const auto& part : ratios) all.insert(all.end(), part.begin(), part.end());
  profile.pairs = all.size();
  profile.pairs_mean_ratio =
      std::accumulate(all.begin(), all.end(), 0.0) / std::max<double>(1, static_cast<double>(all.size()));
  profile.pairs_ratio = percentiles(std::move(all), 1);
}

void profile_counts(const IndexReader& index, const Counts& counts, ListProfile& profile) {
  const auto documents = static_cast<double>(index.num_documents());
  for (std::size_t c = 0; c < class_starts.size(); ++c) {
    profile.classes.emplace_back().min_df = class_starts[c];
    for (const OctaveCounts& octave : counts.lists[c]) {
      add_octave(profile.classes[c], octave);
      add_octave(profile.all, octave);
    }
  }
  const auto add_random_bits = [&](std::uint64_t df, std::uint64_t lists) {
    const double bits = static_cast<double>(lists) * log2_binomial(documents, static_cast<double>(df));
    profile.classes[class_of(df)].random_bits += bits;
    profile.all.random_bits += bits;
  };
  for (std::uint64_t df = 1; df < counts.dfs.size(); ++df)
    if (counts.dfs[df] > 0) add_random_bits(df, counts.dfs[df]);
  std::vector<std::uint64_t> long_dfs = counts.long_dfs;
  std::sort(long_dfs.begin(), long_dfs.end());
  for (const std::uint64_t df : long_dfs) add_random_bits(df, 1);
  for (ListClassProfile& one : profile.classes) divide(one);
  divide(profile.all);
  profile.blocks_compared = std::accumulate(counts.block_maxima.begin(), counts.block_maxima.end(), std::uint64_t{0});
  profile.block_maxima = percentiles_of_steps(counts.block_maxima, profile.blocks_compared);
}

}  // namespace

ListProfile profile_lists(const IndexReader& index, std::span<const QueryView> queries, const Resources& resources) {
  tbb::enumerable_thread_specific<Counts> parts;
  resources.progress->start("read lists", index.manifest().postings, "postings");
  tbb::parallel_for(std::uint64_t{0}, index.num_lexicon_blocks(), [&](std::uint64_t block) {
    std::uint64_t postings = 0;
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      count_list(index, list, parts.local());
      postings += list.df;
    });
    resources.progress->add(postings);
  });
  resources.progress->finish();
  Counts counts;
  for (const Counts& part : parts) add(counts, part);
  ListProfile profile;
  profile_counts(index, counts, profile);
  const double mean = std::max(1e-9, index.manifest().statistics.average_length());
  profile.lengths = percentiles(std::vector<std::uint32_t>(index.lengths().begin(), index.lengths().end()), mean);
  profile_pairs(index, queries, profile);
  return profile;
}

double measure_hand_over_us(unsigned threads, double queries_per_second) {
  constexpr double seconds = 0.2, max_count = 10000;
  const auto count = static_cast<std::size_t>(std::clamp(queries_per_second * seconds, 1.0, max_count));
  const std::vector<double> arrivals_us = poisson_arrivals(count, queries_per_second, 1);
  std::vector<double> passed_us(count);
  const QueryDispatcher* clock = nullptr;
  const DispatchWorker noting{Processor::cpu, 1, [&](std::span<const WaitingQuery> queries) {
                                const WaitingQuery& query = queries.front();
                                passed_us[query.number] = clock->now_us() - query.arrival_us;
                              }};
  ScheduleOptions options;
  options.cpu_threads = threads;
  QueryDispatcher dispatcher(schedule_policy_named("cpu").make(options), std::vector(threads, noting), count);
  clock = &dispatcher;
  const auto begun = WallClock::now();
  for (std::size_t i = 0; i < count; ++i) {
    wait_until(begun + std::chrono::duration_cast<WallClock::duration>(
                           std::chrono::duration<double, std::micro>(std::min(arrivals_us[i], 1e6 * seconds))));
    WaitingQuery query;
    query.number = i;
    dispatcher.submit(query);
  }
  dispatcher.finish();
  return median(std::move(passed_us));  // a core taken away for a while would dominate the mean
}

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
