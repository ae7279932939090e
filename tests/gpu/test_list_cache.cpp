#include <map>
#include <set>

#include "quern/codec/bit_packing.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/store/list_cache.hpp"

#include "catch.hpp"

/// Lists that are loaded and evicted in memory smaller than all of them.
namespace quern {
namespace {

using gpu::ListCache;
using gpu::ListCacheOptions;
using gpu::ListCopies;
using gpu::ListView;
using gpu::WantedList;

constexpr unsigned postings_per_block = 64;

/// Lists with distinct numbers as words, impacts and rows.
class MadeLists {
 public:
  MadeLists(RandomBits& random, std::size_t count, bool with_impacts) {
    std::uint32_t next = 1;
    for (std::size_t i = 0; i < count; ++i) {
      Made& list = lists_.emplace_back();
      const std::size_t blocks = 2 + random.below(random.below(4) == 0 ? 200 : 12);
      for (std::size_t block = 0; block < blocks; ++block) {
        list.offsets.push_back(static_cast<std::uint32_t>(list.words.size() + 1));
        list.lasts.push_back(next);
        list.maxima.push_back(static_cast<std::uint16_t>(next));
        for (std::uint64_t words = 1 + random.below(9); words > 0; --words) list.words.push_back(next++);
      }
      list.words.push_back(next++);  // the header, for which the first offset leaves space
      list.width = static_cast<unsigned>(1 + random.below(12));
      const std::size_t impacts = impact_words(postings_per_block, list.width) * (blocks - 1) + 1;
      if (with_impacts)
        while (list.impacts.size() < impacts) list.impacts.push_back(next++);
    }
  }

  PostingList list(std::size_t i) const {
    const Made& made = lists_[i];
    PostingList list;
    list.number = static_cast<term_t>(3 * i);
    list.df = made.lasts.size() * postings_per_block;
    list.words = made.words;
    list.impacts = made.impacts;
    list.block_last = made.lasts;
    list.block_offset = made.offsets;
    list.block_max = made.maxima;
    list.impact_width = made.width;
    return list;
  }
  std::size_t size() const { return lists_.size(); }

 private:
  struct Made {
    std::vector<std::uint32_t> words, impacts, lasts, offsets;
    std::vector<std::uint16_t> maxima;
    unsigned width = 0;
  };
  std::vector<Made> lists_;
};

/// The arenas, with the words copied to them.
struct Arenas {
  std::vector<std::uint32_t> words, last;
  explicit Arenas(const ListCacheOptions& options) : words(options.words), last(options.rows) {}

  void copy(const ListCopies& copies) {
    for (const gpu::WordCopy& copy : copies.words) {
      REQUIRE(copy.to + copy.from.size() <= words.size());
      std::copy(copy.from.begin(), copy.from.end(), words.begin() + static_cast<std::ptrdiff_t>(copy.to));
    }
    for (const gpu::RowCopy& copy : copies.rows) {
      REQUIRE(copy.to % 2 == 0);
      REQUIRE(copy.to + copy.list->block_last.size() <= last.size());
      std::copy(copy.list->block_last.begin(), copy.list->block_last.end(),
                last.begin() + static_cast<std::ptrdiff_t>(copy.to));
    }
  }

  /// Whether a list is complete where its view says.
  bool has(const PostingList& list, const ListView& view, bool with_rows) const {
    for (std::size_t i = 0; i < list.words.size(); ++i)
      if (words[i < view.front_words ? view.first_word + i : view.tail_word + i - view.front_words] != list.words[i])
        return false;
    const std::uint64_t front_impacts = view.front_blocks < list.block_last.size()
                                            ? view.front_blocks * impact_words(postings_per_block, list.impact_width)
                                            : list.impacts.size();
    for (std::size_t i = 0; i < list.impacts.size(); ++i)
      if (words[i < front_impacts ? view.first_impact_word + i : view.tail_impact_word + i - front_impacts] !=
          list.impacts[i])
        return false;
    for (std::size_t i = 0; with_rows && i < list.block_last.size(); ++i)
      if (last[view.first_row + i] != list.block_last[i]) return false;
    return true;
  }
};

/// Two batches in flight that acquire and release random lists.
class Batches {
 public:
  Batches(RandomBits& random, const MadeLists& made, const ListCacheOptions& options)
      : random_(random), options_(options), cache(options), arenas_(options) {
    for (std::size_t i = 0; i < made.size(); ++i) lists_.push_back(made.list(i));
  }

  void keep_fronts(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const PostingList& list = lists_[i * 2 % lists_.size()];
      if (kept_.contains(list.number)) continue;
      const std::uint64_t blocks = 1 + random_.below(list.block_last.size() + 1);
      ListCopies copies;
      const std::uint64_t before = cache.free_words();
      const bool kept = cache.keep_front(list, blocks, copies);
      REQUIRE(kept == (cache.free_words() < before));
      REQUIRE(kept == !copies.words.empty());
      if (kept) kept_.insert(list.number);
      arenas_.copy(copies);
    }
  }

  void launch(unsigned flight) {
    views_[flight].clear();
    used_[flight].clear();
    std::set<std::size_t> chosen;
    for (std::uint64_t i = random_.below(lists_.size() / 2); i > 0; --i) chosen.insert(random_.below(lists_.size()));
    std::uint64_t words = 0, rows = 0;
    for (const std::size_t i : chosen) {
      words += cache.words_of(lists_[i]);
      rows += cache.rows_of(lists_[i]);
      used_[flight].push_back(&lists_[i]);
    }
    views_[flight].resize(used_[flight].size());
    std::vector<WantedList> wanted;
    for (std::size_t i = 0; i < used_[flight].size(); ++i) {
      ListView& view = views_[flight][i];
      view.words = static_cast<std::uint32_t>(used_[flight][i]->words.size());
      wanted.push_back({used_[flight][i], &view});
    }
    ListCopies copies;
    if (cache.acquire(flight, wanted, copies)) {
      arenas_.copy(copies);
      ++acquired;
    } else {
      REQUIRE(copies.words.empty());
      REQUIRE(copies.rows.empty());
      used_[flight].clear();
      ++refused;
      // A batch that fits the memory outside of kept fronts fits when no other batch uses any.
      if (words > cache.free_words() || rows > cache.free_rows()) return;
      land(1 - flight);
      REQUIRE(cache.acquire(flight, wanted, copies));
      for (const WantedList& each : wanted) used_[flight].push_back(each.list);
      arenas_.copy(copies);
    }
    check();
  }
  /// Holds random lists for windows, as far as they fit. Some batches fail before the copies are made.
  void hold(unsigned flight) {
    views_[flight].clear();
    std::set<const PostingList*> chosen;
    for (std::uint64_t i = random_.below(lists_.size()); i > 0; --i)
      chosen.insert(&lists_[random_.below(lists_.size())]);
    std::vector<WantedList> lists;
    for (const PostingList* list : chosen)
      lists.push_back({.list = list, .queries = static_cast<std::uint32_t>(1 + random_.below(9))});
    ListCopies copies;
    cache.hold(flight, lists, copies);
    if (random_.below(4) == 0) return cache.release(flight);
    arenas_.copy(copies);
    cache.copied();
    for (const PostingList* list : chosen) {
      const gpu::KeptFront front = cache.kept_front(*list);
      if (front.blocks < list->block_last.size() || front.words < list->words.size()) continue;
      used_[flight].push_back(list);
      ListView& view = views_[flight].emplace_back();
      view.first_word = front.first_word;
      view.first_impact_word = front.first_impact_word;
      view.front_words = static_cast<std::uint32_t>(front.words);
    }
    held += used_[flight].size();
    check();
  }
  void land(unsigned flight) {
    cache.release(flight);
    used_[flight].clear();
  }
  /// Checks that all lists of both batches are complete.
  void check() const {
    for (const unsigned flight : {0u, 1u})
      for (std::size_t i = 0; i < used_[flight].size(); ++i)
        REQUIRE(arenas_.has(*used_[flight][i], views_[flight][i], options_.rows > 0));
  }

  std::size_t acquired = 0, refused = 0, held = 0;

 private:
  RandomBits& random_;
  ListCacheOptions options_;

 public:
  ListCache cache;

 private:
  Arenas arenas_;
  std::vector<PostingList> lists_;
  std::set<term_t> kept_;
  std::vector<const PostingList*> used_[2];
  std::vector<ListView> views_[2];
};

/// Four lists, and memory for the first three.
class FourLists {
 public:
  FourLists(std::uint64_t seed, gpu::ListRetention retention)
      : random_(seed), made_(random_, 4, false), cache_(options_of(retention)) {}

  /// Number of copies for a batch that uses only this list.
  std::size_t copies_of(std::size_t i) {
    const PostingList list = made_.list(i);
    ListView view;
    ListCopies copies;
    const WantedList wanted{&list, &view};
    REQUIRE(cache_.acquire(0, {&wanted, 1}, copies));
    cache_.release(0);
    return copies.words.size();
  }
  std::size_t words(std::size_t i) const { return made_.list(i).words.size(); }
  ListCache& cache() { return cache_; }

 private:
  ListCacheOptions options_of(gpu::ListRetention retention) const {
    ListCacheOptions options;
    options.words = words(0) + words(1) + words(2);
    options.block_size = postings_per_block;
    options.retention = retention;
    return options;
  }

  RandomBits random_;
  const MadeLists made_;
  ListCache cache_;
};

}  // namespace

TEST_CASE("extents are distinct, and all are free again once returned", "[gpu_store][property]") {
  RandomBits random(3);
  gpu::Extents extents(5000);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (unsigned step = 0; step < 20000; ++step) {
    if (random.below(2) == 0) {
      const std::uint64_t count = 1 + random.below(random.below(8) == 0 ? 900 : 60);
      const auto place = extents.take(count);
      if (!place) continue;
      REQUIRE(*place + count <= 5000);
      const auto next = taken.lower_bound(*place);
      REQUIRE((next == taken.end() || *place + count <= next->first));
      REQUIRE((next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *place));
      taken[*place] = count;
    } else if (!taken.empty()) {
      auto at = taken.lower_bound(random.below(5000));
      if (at == taken.end()) at = taken.begin();
      extents.give_back(at->first, at->second);
      taken.erase(at);
    }
    std::uint64_t largest = 0, end = 0;
    for (const auto& [place, count] : taken) {
      largest = std::max(largest, place - end);
      end = place + count;
    }
    REQUIRE(extents.largest() == std::max(largest, 5000 - end));
  }
  for (const auto& [place, count] : taken) extents.give_back(place, count);
  CHECK(extents.take(5000) == 0u);
}

TEST_CASE("batches find complete lists in memory that is too small for all", "[gpu_store][property]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomBits random(seed);
    const bool with_impacts = seed % 2 == 0;
    const MadeLists made(random, 60, with_impacts);
    std::uint64_t words = 0, rows = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      words += made.list(i).words.size() + made.list(i).impacts.size();
      rows += made.list(i).block_last.size() + 1;
    }
    ListCacheOptions options;
    options.words = words * (10 + random.below(100)) / 100;
    options.rows = seed % 3 == 0 ? rows * (20 + random.below(90)) / 100 : 0;
    options.with_impacts = with_impacts;
    options.retention = gpu::list_retentions[seed % std::size(gpu::list_retentions)].value;
    options.block_size = postings_per_block;
    INFO("seed " << seed);
    Batches batches(random, made, options);
    batches.keep_fronts(seed % 4 * 8);
    for (unsigned step = 0; step < 300; ++step) {
      const unsigned flight = step % 2;
      batches.land(flight);
      // Only an index whose rows are all resident has windows.
      if (options.rows == 0 && random.below(3) == 0)
        batches.hold(flight);
      else
        batches.launch(flight);
    }
    CHECK(batches.acquired > 0);
    if (options.rows == 0) CHECK(batches.held > 0);
  }
}

TEST_CASE("the front of a list is a list of its own while the rest is missing", "[gpu_store][property]") {
  RandomBits random(19);
  const MadeLists made(random, 40, true);
  ListCacheOptions options;
  options.with_impacts = true;
  options.block_size = postings_per_block;
  std::vector<PostingList> lists;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const PostingList& list = lists.emplace_back(made.list(i));
    options.words += 2 * (list.words.size() + list.impacts.size());
    options.rows += 4 * list.block_last.size();
  }
  ListCache cache(options);
  Arenas arenas(options);
  ListCopies fronts;
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (i % 4 > 0) REQUIRE(cache.keep_front(lists[i], 1 + random.below(lists[i].block_last.size()), fronts));
  arenas.copy(fronts);
  for (const PostingList& list : lists) {
    INFO("list " << list.number);
    const std::uint64_t blocks = cache.kept_front(list).blocks;
    const auto front = cache.front_only(list);
    REQUIRE(front.has_value() == (0 < blocks && blocks < list.block_last.size()));
    CHECK(cache.rows_behind_front(list) == (blocks > 0 ? 0 : cache.rows_of(list)));
    if (!front) {
      CHECK(cache.words_behind_front(list) == (blocks > 0 ? 0 : cache.words_of(list)));
      continue;
    }
    CHECK(front->df == blocks * postings_per_block);
    CHECK(front->block_last.size() == blocks);
    CHECK(front->block_offset.size() == blocks);
    CHECK(front->words.size() == list.block_offset[blocks]);
    CHECK(cache.words_behind_front(list) == cache.words_of(list) - cache.words_of(*front));
    CHECK(cache.words_behind_front(*front) == 0);
    ListView view;
    view.words = static_cast<std::uint32_t>(front->words.size());
    cache.use_front(*front, view);
    CHECK(arenas.has(*front, view, true));
    CHECK(view.front_words == view.words);
    CHECK(view.front_blocks >= blocks);

    // Once a batch has loaded the rest, the list is complete until its memory is needed.
    ListCopies rest;
    const WantedList wanted{&list, &view};
    REQUIRE(cache.acquire(0, {&wanted, 1}, rest));
    arenas.copy(rest);
    CHECK(rest.rows.empty());
    CHECK_FALSE(cache.front_only(list));
    cache.release(0);
    CHECK_FALSE(cache.front_only(list));
    const std::vector<std::uint32_t> others(cache.free_words());
    PostingList all_others = list;
    all_others.number = 1000;
    all_others.words = others;
    all_others.impacts = {};
    const WantedList in_its_place{&all_others, &view};
    REQUIRE(cache.acquire(0, {&in_its_place, 1}, rest));
    CHECK(cache.front_only(list));
    cache.release(0);
  }
}

TEST_CASE("with lru, a list stays until memory is needed, and the most recently used one stays longest",
          "[gpu_store]") {
  FourLists lists(5, gpu::ListRetention::lru);
  const auto copies_of = [&](std::size_t i) { return lists.copies_of(i); };
  for (const std::size_t i : {0, 1, 2}) CHECK(copies_of(i) == 1);
  for (const std::size_t i : {0, 1, 2, 0}) CHECK(copies_of(i) == 0);
  CHECK(copies_of(3) == 1);  // replaces 1, and perhaps 2
  CHECK(copies_of(0) == (lists.words(3) > lists.words(1) + lists.words(2) ? 1 : 0));
  CHECK(copies_of(1) == 1);
  const gpu::ListCacheCounts counts = lists.cache().take_counts();
  CHECK(counts.lists == 10);
  CHECK(counts.resident_lists + 5 + (counts.copied_bytes == 0) <= 10);
  CHECK(counts.bytes > counts.copied_bytes);
  CHECK(lists.cache().take_counts().lists == 0);
}

TEST_CASE("with lfu, the lists that stay for windows become those that most queries use", "[gpu_store][property]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomBits random(seed);
    const MadeLists made(random, 200, false);
    std::vector<PostingList> lists;
    std::uint64_t words = 0;
    for (std::size_t i = 0; i < made.size(); ++i) words += lists.emplace_back(made.list(i)).words.size();
    ListCacheOptions options;
    options.words = words / 4;
    options.block_size = postings_per_block;
    ListCache cache(options);
    // List i is one of a query's with a probability of 1 / (i + 1). At first, the rarest lists fill the memory.
    const auto next_batch = [&](bool is_first) {
      std::vector<WantedList> wanted;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        std::uint32_t queries = is_first && i > 100;
        for (unsigned query = 0; query < 16 && !is_first; ++query) queries += random.below(i + 1) == 0;
        if (queries > 0) wanted.push_back({.list = &lists[i], .queries = queries});
      }
      return wanted;
    };
    const auto missing_words = [&](const std::vector<WantedList>& batch, const auto& stays) {
      std::uint64_t sum = 0;
      for (const WantedList& wanted : batch)
        if (!stays(*wanted.list)) sum += wanted.list->words.size();
      return sum;
    };
    std::uint64_t best = 0, missing = 0;
    constexpr unsigned warm_up = 60, measured = 60;
    for (unsigned step = 0; step < warm_up + measured; ++step) {
      const std::vector<WantedList> batch = next_batch(step == 0);
      const unsigned flight = step % 2;
      cache.release(flight);
      if (step >= warm_up) {
        std::uint64_t left = options.words;
        std::set<term_t> most_used;
        for (const PostingList& list : lists)
          if (list.words.size() <= left && most_used.insert(list.number).second) left -= list.words.size();
        best += missing_words(batch, [&](const PostingList& list) { return most_used.contains(list.number); });
        missing += missing_words(batch, [&](const PostingList& list) { return cache.has(list); });
      }
      ListCopies copies;
      cache.hold(flight, batch, copies);
      cache.copied();
    }
    INFO("seed " << seed << ": missing " << missing << " words, with the best lists " << best);
    CHECK(missing < best / 3 * 4);
  }
}

TEST_CASE("with lfu, the least often used list is evicted first, and old uses count for less", "[gpu_store]") {
  FourLists lists(7, gpu::ListRetention::lfu);
  for (const std::size_t i : {0, 1, 2}) CHECK(lists.copies_of(i) == 1);
  for (const std::size_t i : {0, 0, 2, 2, 2, 0, 0, 0, 1}) CHECK(lists.copies_of(i) == 0);
  REQUIRE(lists.words(3) <= lists.words(1) + lists.words(2));
  CHECK(lists.copies_of(3) == 1);  // replaces 1, and perhaps 2
  CHECK(lists.copies_of(0) == 0);
  CHECK(lists.copies_of(1) == 1);
  for (unsigned turn = 0; turn < 20; ++turn)
    for (const std::size_t i : {1, 2, 3}) lists.copies_of(i);
  CHECK(lists.copies_of(0) == 1);
}

}  // namespace quern
