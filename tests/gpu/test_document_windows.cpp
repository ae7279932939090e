#include <algorithm>
#include <deque>

#include "quern/codec/bit_packing.hpp"
#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/decode/block_place.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/range_batch.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/strategy.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/query_checks.hpp"

/// Windows contain all blocks that they need according to a plain reading of the lists, where their views say.
namespace quern {
namespace {

using namespace testing;

/// A batch of one query with all terms of the index.
struct BatchOfAll {
  explicit BatchOfAll(const QueryEngine& engine) : batch(engine) {
    const IndexReader& index = engine.index();
    for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
      index.for_each_list(block, [&](std::string_view, const PostingList& list) {
        if (lists.size() < gpu::max_terms) lists.push_back({list, 1.0f, 1});
      });
    batch.add(std::vector<gpu::UnbatchedQuery>{{lists}}, {});
  }
  std::vector<WeightedList> lists;
  gpu::QueryBatch batch;
};

gpu::ListCache cache_with_fronts(const BatchOfAll& whole, bool impacts, RandomBits& random) {
  gpu::ListCacheOptions options;
  options.with_impacts = impacts;
  options.block_size = whole.batch.engine().index().block_size();
  for (const WeightedList& list : whole.lists) options.words += 2 * (list.list.words.size() + list.list.impacts.size());
  gpu::ListCache cache(options);
  gpu::ListCopies copies;
  for (const auto& [number, list] : whole.batch.coded)
    if (random.below(2) == 0) REQUIRE(cache.keep_front(*list, 1 + random.below(list->block_last.size()), copies));
  return cache;
}

/// The arena's word at this position, if the window copies it.
std::uint32_t word_at(const gpu::WindowLists& lists, std::uint64_t first, std::uint64_t place) {
  const std::uint64_t at = place - first;
  REQUIRE(at < lists.words);
  for (const gpu::WordCopy& part : lists.copies)
    if (part.to <= at && at < part.to + part.from.size()) return part.from[at - part.to];
  FAIL("no part has word " << at);
  return 0;
}

/// A block outside of fronts can be read where the view says.
void check_block(const gpu::WindowLists& lists, std::uint64_t first, const gpu::ListView& view, const PostingList& list,
                 std::uint32_t block, unsigned block_size, bool impacts) {
  if (block < view.front_blocks) return;
  const std::uint32_t* const arena = nullptr;
  gpu::IndexView index;
  index.postings = arena;
  index.block_size = block_size;
  REQUIRE(view.begin_block <= block);
  REQUIRE(block < view.end_block);
  const std::uint32_t rows = static_cast<std::uint32_t>(list.block_last.size());
  const std::uint32_t begin = list.block_offset[block], end = block + 1 < rows
                                                                  ? list.block_offset[block + 1]
                                                                  : static_cast<std::uint32_t>(list.words.size());
  REQUIRE(view.tail_begin <= begin);
  REQUIRE(end <= view.words);
  for (std::uint32_t word = begin; word < end; ++word)
    REQUIRE(word_at(lists, first, view.tail_word + word - view.tail_begin) == list.words[word]);
  if (view.front_blocks == 0)
    for (std::uint32_t word = 0; word < view.header_words; ++word)
      REQUIRE(word_at(lists, first, view.first_word + word) == list.words[word]);
  if (!impacts) return;
  const std::uint64_t per_block = impact_words(block_size, list.impact_width);
  const std::uint64_t last = std::min<std::uint64_t>(list.impacts.size(), (block + 1) * per_block);
  for (std::uint64_t word = block * per_block; word < last; ++word) {
    const std::uint64_t before = std::max(view.front_blocks, view.begin_block) * per_block;
    REQUIRE(word_at(lists, first, view.tail_impact_word + word - before) == list.impacts[word]);
  }
}

void check_window(const gpu::QueryBatch& batch, const gpu::WindowLists& lists, std::uint64_t first, bool impacts) {
  const unsigned block_size = batch.engine().index().block_size();
  const std::uint64_t begin = std::uint64_t{lists.window.first_range} * gpu::range_documents,
                      end = begin + std::uint64_t{lists.window.ranges} * gpu::range_documents;
  for (const auto& [number, list] : batch.coded) {
    for (std::uint32_t block = 0; block < list->block_last.size(); ++block) {
      const std::uint64_t after = block == 0 ? 0 : list->block_last[block - 1] + 1;
      if (after < end && list->block_last[block] >= begin)
        check_block(lists, first, lists.lists[number], *list, block, block_size, impacts);
    }
  }
}

/// Blocks are numbered list by list, and entries, starts and maxima follow each other. Returns the postings' entries.
std::uint64_t check_numbers(const gpu::WindowLists& lists, unsigned block_size, std::uint64_t first_entry) {
  std::uint64_t blocks = 0, next = first_entry, entries = 0;
  REQUIRE(lists.entries_of.lists.size() == lists.lists.size());
  for (std::size_t i = 0; i < lists.lists.size(); ++i) {
    const gpu::ListView& view = lists.lists[i];
    const gpu::EntryPlace& place = lists.entries_of.lists[i];
    REQUIRE(place.first_block == blocks);
    REQUIRE(place.first_entry == next);
    std::uint64_t begin = 0, end = 0;
    if (view.raw) {
      REQUIRE(place.blocks == 1);
      end = view.df;
    } else if (view.begin_block < view.end_block) {
      REQUIRE(place.blocks == view.end_block - view.begin_block);
      begin = std::uint64_t{view.begin_block} * block_size;
      end = std::min<std::uint64_t>(view.df, std::uint64_t{view.end_block} * block_size);
    } else {
      REQUIRE(place.blocks == 0);
    }
    REQUIRE(place.begin == begin);
    REQUIRE(place.end == end);
    blocks += place.blocks;
    const std::uint64_t taken = (end - begin + 3) / 4 * 4;
    entries += taken;
    REQUIRE(place.first_start == next + taken);
    next = place.first_start + (2 * std::uint64_t{lists.window.ranges} + 1 + 3) / 4 * 4;
  }
  REQUIRE(lists.entries_of.blocks == blocks);
  return entries;
}

}  // namespace

TEST_CASE("each window contains all blocks with documents in it", "[gpu_store][property]") {
  IndexedCorpus corpus(83, {70000, 60, 5, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  RandomBits random(83);
  for (const bool impacts : {false, true}) {
    const QueryEngine engine(index, with_scores(impacts ? Scores::quantized : Scores::exact));
    const BatchOfAll whole(engine);
    REQUIRE(whole.batch.coded.size() > 10);
    const std::uint32_t ranges = gpu::num_ranges(index.num_documents());
    REQUIRE(ranges == 5);
    for (unsigned turn = 0; turn < 8; ++turn) {
      const gpu::ListCache cache = cache_with_fronts(whole, impacts, random);
      const gpu::WindowLimits none{~std::uint64_t{0}, ~std::uint64_t{0}, 1};
      const gpu::WindowLimits least = gpu::DocumentWindows(index, whole.batch.batch_lists(), cache, none).largest();
      const gpu::WindowLimits limits{least.words + random.below(3 * least.words + 1),
                                     least.entries + random.below(3 * least.entries),
                                     static_cast<std::uint32_t>(1 + random.below(5))};
      const gpu::DocumentWindows windows(index, whole.batch.batch_lists(), cache, limits);
      std::uint32_t next_range = 0;
      std::uint64_t copied = 0;
      gpu::WindowLists lists;
      for (std::size_t i = 0; i < windows.size(); ++i) {
        windows.view(i, 1000, 64, lists);
        REQUIRE(lists.window.first_range == next_range);
        next_range += lists.window.ranges;
        copied += lists.words;
        REQUIRE(lists.words <= limits.words);
        REQUIRE(lists.window.ranges <= limits.ranges);
        REQUIRE(lists.words <= windows.largest().words);
        REQUIRE(check_numbers(lists, index.block_size(), 64) <= limits.entries);
        const gpu::EntryPlace& last = lists.entries_of.lists.back();
        REQUIRE(last.first_start + 2 * lists.window.ranges + 1 <= 64 + windows.entry_room());
        check_window(whole.batch, lists, 1000, impacts);
      }
      REQUIRE(next_range == ranges);
      REQUIRE(copied == windows.copied_words());
    }
    const gpu::ListCache cache = cache_with_fronts(whole, impacts, random);
    CHECK_THROWS_AS(gpu::DocumentWindows(index, whole.batch.batch_lists(), cache, {8, 1 << 30, 1}), GpuOutOfMemory);
    CHECK_THROWS_AS(gpu::DocumentWindows(index, whole.batch.batch_lists(), cache, {1 << 30, 64, 1}), GpuOutOfMemory);
  }
}

TEST_CASE("windows of lists with damaged rows stay within the lists, and omit no block", "[gpu_store]") {
  IndexedCorpus corpus(89, {40000, 30, 5, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const QueryEngine engine(index, {});
  RandomBits random(89);
  for (unsigned turn = 0; turn < 30; ++turn) {
    BatchOfAll whole(engine);
    std::deque<std::vector<docid_t>> last;
    std::deque<std::vector<std::uint32_t>> offset;
    std::deque<PostingList> damaged;
    for (auto& [number, list] : whole.batch.coded) {
      PostingList& copy = damaged.emplace_back(*list);
      auto& own_last = last.emplace_back(list->block_last.begin(), list->block_last.end());
      auto& own_offset = offset.emplace_back(list->block_offset.begin(), list->block_offset.end());
      for (unsigned i = 0; i < 3; ++i) {
        own_last[random.below(own_last.size())] ^= 1u << random.below(32);
        own_offset[random.below(own_offset.size())] ^= 1u << random.below(32);
      }
      copy.block_last = own_last;
      copy.block_offset = own_offset;
      list = &copy;
    }
    gpu::ListCacheOptions options;
    options.block_size = index.block_size();
    const gpu::ListCache cache(options);
    const gpu::DocumentWindows windows(index, whole.batch.batch_lists(), cache,
                                       {1 << 30, 1 << 30, static_cast<std::uint32_t>(1 + turn % 3)});
    gpu::WindowLists lists;
    std::vector<std::uint32_t> next_block(whole.batch.lists.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      windows.view(i, 0, 0, lists);
      check_numbers(lists, index.block_size(), 0);
      for (const gpu::WordCopy& part : lists.copies) REQUIRE(part.to + part.from.size() <= lists.words);
      for (const auto& [number, list] : whole.batch.coded) {
        const gpu::ListView& view = lists.lists[number];
        REQUIRE(view.begin_block <= next_block[number]);
        REQUIRE(view.end_block <= list->block_last.size());
        REQUIRE(view.words <= list->words.size());
        next_block[number] = std::max(next_block[number], view.end_block);
      }
    }
    for (const auto& [number, list] : whole.batch.coded) REQUIRE(next_block[number] == list->block_last.size());
  }
}

TEST_CASE("runs have whole words, end with a line of the link, and follow each other", "[gpu_store]") {
  for (std::uintptr_t from = 0; from < 512; ++from) {
    for (const std::size_t bytes : {0u, 4u, 16000u, 16384u, 16388u, 32768u, 100000u}) {
      const gpu::MoveItems runs(from, bytes);
      std::size_t next = 0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(runs[i].first == next);
        CHECK(runs[i].bytes > 0);
        CHECK(runs[i].bytes % sizeof(std::uint32_t) == 0);
        next += runs[i].bytes;
        CHECK((next == bytes || (from + next) % 128 < sizeof(std::uint32_t)));
      }
      CHECK(next == bytes);
    }
  }
}

TEST_CASE("gathered words are those of the parts, from any word on", "[gpu_store]") {
  std::vector<std::uint32_t> all(200000);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i * 2654435761u;
  RandomBits random(97);
  std::vector<gpu::WordCopy> parts;
  for (std::uint64_t at = 0; at < all.size();) {
    const std::uint64_t count =
        std::min<std::uint64_t>(1 + random.below(random.below(2) == 0 ? 5 : 60000), all.size() - at);
    parts.push_back({WordView(all).subspan(at, count), at});
    at += count;
  }
  for (unsigned turn = 0; turn < 50; ++turn) {
    const std::uint64_t from = random.below(all.size()), count = random.below(all.size() - from + 1);
    std::vector<std::uint32_t> to(count + 1, 77);
    gpu::gather_words(parts, from, count, to.data());
    REQUIRE(std::equal(to.begin(), to.end() - 1, all.begin() + static_cast<std::ptrdiff_t>(from)));
    REQUIRE(to.back() == 77);
  }
}

TEST_CASE("every strategy reports the maximum size of its windows, or that memory is too small", "[gpu_strategy]") {
  IndexedCorpus corpus(19, {300, 40, 20, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {8, 1}));
  const QueryEngine engine(index, {});
  const BatchOfAll whole(engine);
  REQUIRE(whole.lists.size() > 32);
  gpu::QueryBatch small(engine);
  const std::vector<WeightedList> some(whole.lists.begin(), whole.lists.begin() + 3);
  small.add(std::vector<gpu::UnbatchedQuery>{{some}}, {.intersect = true});
  for (const gpu::Strategy& strategy : gpu::all_strategies()) {
    INFO(strategy.name);
    REQUIRE(strategy.window_limits != nullptr);
    const auto limits_of = [&](const gpu::QueryBatch& batch, bool intersect, std::uint64_t words) {
      return strategy.window_limits(batch, {intersect, gpu::Pruning::none, 10}, words);
    };
    // Including a single intersection.
    const auto limits = limits_of(small, true, 1 << 20);
    REQUIRE(limits);
    CHECK(limits->ranges == 1);
    CHECK(limits->entries >= small.entries);
    CHECK(limits_of(small, true, 8).has_value() == (strategy.decodes_lists == nullptr));
    CHECK(limits_of(whole.batch, false, 1 << 20));
    CHECK(limits_of(whole.batch, true, 1 << 20));
  }
}

TEST_CASE("the work of a batch of intersections decides whether its lists are decoded", "[gpu_batch]") {
  IndexedCorpus corpus(29, {3000, 40, 20, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const QueryEngine engine(index, {});
  BatchOfAll whole(engine);
  std::sort(whole.lists.begin(), whole.lists.end(),
            [](const WeightedList& a, const WeightedList& b) { return a.list.df > b.list.df; });
  const std::vector<WeightedList> longest(whole.lists.begin(), whole.lists.begin() + 3);
  const std::vector<WeightedList> with_short = {longest[0], whole.lists.back()};
  REQUIRE(longest[2].list.df > 1024);
  REQUIRE(with_short[1].list.df < 512);
  const gpu::BatchWork intersect{true, gpu::Pruning::none, 10}, unite{false, gpu::Pruning::none, 10};
  const auto decodes = [&](const std::vector<WeightedList>& lists, std::size_t queries,
                           const gpu::StrategyOptions& options = {}, bool all = true, bool stay = false) {
    gpu::QueryBatch batch(engine);
    batch.add(std::vector<gpu::UnbatchedQuery>(queries, gpu::UnbatchedQuery{lists}), {.intersect = all});
    return gpu::range_decodes_lists(batch, all ? intersect : unite, options, stay);
  };
  // A query looks up the shortest list's documents in two others.
  const std::uint64_t each = 2 * std::uint64_t{longest[2].list.df};
  const auto most = static_cast<std::size_t>(gpu::lookups_per_batch / (each - gpu::lookups_per_query));
  CHECK_FALSE(decodes(longest, 1));
  CHECK_FALSE(decodes(longest, most));
  CHECK(decodes(longest, most + 1));
  // Queries with few documents never do, however many queries there are.
  CHECK_FALSE(decodes(with_short, 20000));
  CHECK(decodes(with_short, 1, {.decodes_always = true}));
  // Where lists stay decoded, fewer are enough.
  const auto max_kept = static_cast<std::size_t>(gpu::kept_lookups_per_batch / (each - gpu::kept_lookups_per_query));
  REQUIRE(max_kept + 1 < most);
  CHECK_FALSE(decodes(longest, max_kept, {}, true, true));
  CHECK(decodes(longest, max_kept + 1, {}, true, true));
  CHECK_FALSE(decodes(with_short, 1, {}, true, true));
  // Unions always do.
  CHECK(decodes(longest, 1, {}, false));
}

}  // namespace quern
