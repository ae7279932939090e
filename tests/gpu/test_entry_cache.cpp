#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "quern/core/random.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/gpu/store/entry_cache.hpp"

#include "catch.hpp"

/// Decoded lists stay in an arena while there is space, and never move or overlap while a batch uses them.
namespace quern {
namespace {

using gpu::EntryCache;
using gpu::EntryPlace;

/// Coded lists of different lengths for batches, and their views.
class HostLists {
 public:
  HostLists(unsigned count, RandomBits& random) : rows_(64) {
    for (unsigned i = 0; i < count; ++i) {
      PostingList& list = lists_.emplace_back();
      list.number = i;
      list.df = 17 + random.below(400);
      list.block_last = std::span(rows_).first((list.df + 15) / 16);
    }
  }
  const PostingList& operator[](std::size_t i) const { return lists_[i]; }
  std::size_t size() const { return lists_.size(); }

 private:
  std::vector<docid_t> rows_;
  std::deque<PostingList> lists_;
};

struct Batch {
  std::vector<gpu::ListView> views;
  std::vector<std::pair<std::uint32_t, const PostingList*>> coded;
  gpu::EntryPlaces places;
  std::set<term_t> cut;            ///< lists with only a front in the batch
  std::deque<PostingList> fronts;  ///< the fronts of these lists

  gpu::BatchLists lists() const { return {views, coded}; }
  void add_raw(std::uint32_t df) {
    views.emplace_back().raw = 1;
    views.back().df = df;
  }
  void add(const PostingList& list, bool is_cut = false) {
    const PostingList* source = &list;
    if (is_cut) {
      cut.insert(list.number);
      PostingList& front = fronts.emplace_back(list);
      front.df = list.df / 2;
      front.block_last = list.block_last.first((front.df + 15) / 16);
      source = &front;
    }
    coded.emplace_back(views.size(), source);
    gpu::ListView& view = views.emplace_back();
    view.df = static_cast<std::uint32_t>(source->df);
    view.rows = static_cast<std::uint32_t>(source->block_last.size());
  }
};

Batch random_batch(const HostLists& lists, RandomBits& random) {
  Batch batch;
  std::set<std::size_t> chosen;
  for (std::uint64_t i = 1 + random.below(6); i > 0; --i)
    chosen.insert(random.below(random.below(2) ? 6 : lists.size()));
  for (const std::size_t i : chosen) {
    if (random.below(4) == 0) batch.add_raw(static_cast<std::uint32_t>(1 + random.below(16)));
    batch.add(lists[i], random.below(8) == 0);
  }
  return batch;
}

constexpr std::uint32_t num_test_ranges = 3;

/// The arena's contents by word: the number of a list, or of an item that belongs to a batch.
class Arena {
 public:
  explicit Arena(std::uint64_t words) : words_(words) {}

  /// Emulates the batch's kernels: writes the lists that it decodes; the others must be present.
  void run(const Batch& batch) {
    std::uint32_t blocks = 0;
    for (std::size_t i = 0; i < batch.views.size(); ++i) {
      const EntryPlace& place = batch.places.lists[i];
      REQUIRE(place.first_entry % 4 == 0);
      REQUIRE(place.begin == 0);
      REQUIRE(place.end == batch.views[i].df);
      REQUIRE(place.first_start == place.first_entry + gpu::entry_words(place.end));
      REQUIRE(place.first_block == blocks);
      blocks += place.blocks;
      if (place.blocks > 0) {
        REQUIRE(place.blocks == (batch.views[i].raw ? 1 : batch.views[i].rows));
        for_each_word(place, [&](std::uint64_t word) { words_.at(word) = content(batch, i); });
      }
    }
    REQUIRE(batch.places.blocks == blocks);
    check(batch);
  }
  void check(const Batch& batch) const {
    for (std::size_t i = 0; i < batch.views.size(); ++i) {
      bool same = true;
      for_each_word(batch.places.lists[i], [&](std::uint64_t word) { same &= words_.at(word) == content(batch, i); });
      REQUIRE(same);
    }
  }

 private:
  template <class Visit>
  static void for_each_word(const EntryPlace& place, Visit&& visit) {
    const std::uint64_t end = place.first_start + gpu::start_words(num_test_ranges);
    for (std::uint64_t word = place.first_entry; word < end; ++word) visit(word);
  }
  /// Distinguishes lists, fronts and raw lists.
  static std::uint64_t content(const Batch& batch, std::size_t view) {
    for (const auto& [number, list] : batch.coded)
      if (number == view) return 1 + 2 * list->number + (batch.cut.contains(list->number) ? 1 : 0);
    return reinterpret_cast<std::uintptr_t>(&batch) + view;
  }

  std::vector<std::uint64_t> words_;
};

/// Whether a batch reads a list that another one decodes.
bool reads_what_decodes(const Batch& batch, const Batch& other) {
  for (const EntryPlace& read : batch.places.lists)
    for (const EntryPlace& written : other.places.lists)
      if (read.blocks == 0 && written.blocks > 0 && read.first_entry == written.first_entry) return true;
  return false;
}

}  // namespace

TEST_CASE("decoded lists stay while batches use them, and missing ones are decoded", "[gpu_entries][property]") {
  RandomBits random(101);
  std::uint64_t kept = 0, evicted = 0, refused = 0, beside = 0;
  for (unsigned turn = 0; turn < 60; ++turn) {
    const HostLists lists(30, random);
    const std::uint64_t words = 600 + random.below(8000);
    EntryCache cache(words, num_test_ranges);
    Arena arena(words / 4 * 4);
    std::map<unsigned, Batch> running;
    std::set<term_t> seen;
    for (unsigned step = 0; step < 200; ++step) {
      const unsigned flight = step % 2;
      if (running.contains(flight)) {
        arena.check(running.at(flight));
        cache.release(flight);
        running.erase(flight);
      }
      Batch& batch = running.emplace(flight, random_batch(lists, random)).first->second;
      const bool has_others = running.size() > 1;
      if (!cache.acquire(flight, batch.lists(), batch.places)) {
        ++refused;
        std::uint64_t needed = 0;
        for (const gpu::ListView& view : batch.views) needed += cache.words_of(view.df);
        // A single batch gets space for everything that fits into the arena.
        REQUIRE((has_others || needed > cache.words()));
        running.erase(flight);
        continue;
      }
      if (random.below(10) == 0) {
        // The batch does not run, so its lists are not decoded.
        cache.release(flight, false);
        running.erase(flight);
        continue;
      }
      arena.run(batch);
      for (const auto& [other, other_batch] : running) {
        arena.check(other_batch);
        // A concurrent batch reads nothing that the other one decodes.
        if (other == flight || cache.others_decode(flight)) continue;
        ++beside;
        REQUIRE(!reads_what_decodes(batch, other_batch));
      }
      for (const auto& [number, list] : batch.coded) {
        const bool is_kept = batch.places.lists[number].blocks == 0;
        kept += is_kept;
        evicted += !is_kept && seen.contains(list->number);
        seen.insert(list->number);
      }
      if (random.below(40) == 0) {
        for (unsigned i = 0; i < 2; ++i) cache.release(i);
        running.clear();
        cache.clear();
      }
    }
  }
  CHECK(kept > 1000);
  CHECK(evicted > 1000);
  CHECK(refused > 10);
  CHECK(beside > 100);
}

TEST_CASE("the least recently used decoded lists are evicted first", "[gpu_entries]") {
  RandomBits random(3);
  const HostLists lists(3, random);
  EntryCache cache(0, num_test_ranges);
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < 2; ++i) words += cache.words_of(lists[i].df);
  cache = EntryCache(std::max(words, cache.words_of(lists[2].df) + cache.words_of(lists[0].df)), num_test_ranges);
  const auto is_kept = [&](std::size_t i) {
    Batch batch;
    batch.add(lists[i]);
    REQUIRE(cache.acquire(0, batch.lists(), batch.places));
    cache.release(0);
    return batch.places.blocks == 0;
  };
  CHECK_FALSE(is_kept(0));
  CHECK_FALSE(is_kept(1));
  CHECK(is_kept(0));
  CHECK(is_kept(1));
  CHECK(is_kept(0));
  const gpu::EntryCounts counts = cache.take_counts();
  CHECK(counts.lists == 5);
  CHECK(counts.kept_lists == 3);
  CHECK_FALSE(is_kept(2));  // evicted instead of list 1
  CHECK(is_kept(0));
  CHECK_FALSE(is_kept(1));
}

TEST_CASE("windows take the space of earlier batches, whose kernels end before", "[gpu_entries]") {
  RandomBits random(7);
  const HostLists lists(20, random);
  EntryCache cache(4000, num_test_ranges);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    Batch batch;
    batch.add(lists[i]);
    REQUIRE(cache.acquire(0, batch.lists(), batch.places));
    cache.release(0);
  }
  std::uint64_t first = 0, second = 0;
  REQUIRE(cache.take_room(0, 3999, first));
  REQUIRE(cache.take_room(1, 4000, second));
  CHECK(first == 0);
  CHECK(second == 0);
  cache.release(0);
  CHECK_FALSE(cache.take_room(0, 4001, first));
  // A whole batch too, although the windows of the other flight are not released.
  Batch whole, other;
  for (std::size_t i = 0; i < 3; ++i) whole.add(lists[i]);
  REQUIRE(cache.acquire(0, whole.lists(), whole.places));
  cache.release(1);
  for (std::size_t i = 3; i < 6; ++i) other.add(lists[i]);
  REQUIRE(cache.acquire(1, other.lists(), other.places));
  Arena arena(4000);
  arena.run(whole);
  arena.run(other);
  arena.check(whole);
  // Lists that another flight decodes are dropped, and forgotten if it did not run.
  REQUIRE(cache.take_room(0, 4000, first));
  cache.release(1, false);
  cache.release(0);
  REQUIRE(cache.acquire(1, whole.lists(), whole.places));
  for (const EntryPlace& place : whole.places.lists) CHECK(place.blocks > 0);
}

}  // namespace quern
