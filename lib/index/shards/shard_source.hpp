#pragma once
#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/impact_sections.hpp"
#include "quern/index/index_assembly.hpp"

namespace quern {

/// The shard to build: its number, from 1, and the count of shards.
struct ShardChoice {
  std::uint32_t number = 1, count = 1;
};

/// A shard's input from files of the whole: the order, the statistics, and the scale of quantized impacts.
class ShardSource {
 public:
  /// Throws InvalidArgument if the order isn't cut into that many shards.
  ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
              std::optional<Scales> scales);
  ShardSource(const ShardSource&) = delete;
  ShardSource& operator=(const ShardSource&) = delete;

  DocidRange docids() const { return whole_.docids; }
  const StatisticsReader& statistics() const { return statistics_; }
  /// Throws InvalidArgument unless the statistics match these collections and, for quantized impacts, the scale covers
  /// all of them with the same k1 and b.
  void check(const CollectionReader& collection, const BuildOptions& options) const;
  /// For a single call of build_index().
  const CollectionContext& whole();

 private:
  TermCounts counts_of(std::string_view term);

  StatisticsReader statistics_;
  std::optional<Scales> scales_;
  CollectionContext whole_;
  std::optional<DictionaryScan> scan_;
  DictionaryEntry entry_;
  bool has_entry_ = false;
};

/// The documents of an index, or of all its shards, as input of another index.
class IndexDocuments {
 public:
  explicit IndexDocuments(const IndexShards& shards) : shards_(&shards) {}
  explicit IndexDocuments(const IndexReader& index) : index_(&index) {}

  /// Calls visit(document) for the documents [first, end), in order. Thread-safe.
  void for_each(docid_t first, docid_t end, const AssembledLists::DocumentVisit& visit) const {
    while (first < end) {
      const IndexShards::Place place = shards_ == nullptr ? IndexShards::Place{*index_, first} : shards_->place(first);
      const docid_t count = std::min(end - first, place.index.num_documents() - place.docid);
      place.index.for_each_text(place.docid, place.docid + count,
                                [&](docid_t docid, std::string_view url, std::string_view title) {
                                  visit({place.index.docno(docid), url, title});
                                });
      first += count;
    }
  }

 private:
  const IndexShards* shards_ = nullptr;
  const IndexReader* index_ = nullptr;  ///< instead of shards
};

/// Passes terms from the thread that finds them to another one, in batches.
class TermNames {
 public:
  /// Adds the next term; they are numbered from 0.
  void add(std::string_view name) {
    adding_.text += name;
    adding_.ends.push_back(adding_.text.size());
  }
  /// Makes the added terms available to the other thread.
  void hand_over() {
    if (adding_.ends.empty()) return;
    const term_t next = adding_.end();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::exchange(adding_, Names{next, {}, {}}));
  }
  /// A term that was handed over; call in ascending order. The view is valid until the next call.
  std::string_view at(term_t number) {
    while (number >= current_.end()) {
      const std::lock_guard lock(mutex_);
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::size_t i = number - current_.first, begin = i == 0 ? 0 : current_.ends[i - 1];
    return std::string_view(current_.text).substr(begin, current_.ends[i] - begin);
  }

 private:
  /// Consecutive terms.
  struct Names {
    term_t first = 0;
    std::string text;
    std::vector<std::size_t> ends;  ///< ends of the terms in `text`

    term_t end() const { return first + static_cast<term_t>(ends.size()); }
  };

  Names adding_, current_;
  std::mutex mutex_;
  std::deque<Names> waiting_;
};

}  // namespace quern
