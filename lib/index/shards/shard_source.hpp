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

/// Which shard is to be built: the number-th of so many, from 1.
struct ShardChoice {
  std::uint32_t number = 1, count = 1;
};

/// What a shard takes from files of the whole: the order, its statistics, and the scale of quantized impacts.
class ShardSource {
 public:
  /// Throws InvalidArgument if the order is not cut into so many shards.
  ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
              std::optional<Scales> scales);
  ShardSource(const ShardSource&) = delete;
  ShardSource& operator=(const ShardSource&) = delete;

  DocidRange docids() const { return whole_.docids; }
  const StatisticsReader& statistics() const { return statistics_; }
  /// Throws InvalidArgument unless the statistics are of these collections, and the scale, if options ask for quantized
  /// impacts, of all of them and of the same k1 and b.
  void check(const CollectionReader& collection, const BuildOptions& options) const;
  /// For build_index(), once.
  const WholeOfShard& whole();

 private:
  TermCounts counts_of(std::string_view term);

  StatisticsReader statistics_;
  std::optional<Scales> scales_;
  WholeOfShard whole_;
  std::optional<DictionaryScan> scan_;
  DictionaryEntry entry_;
  bool has_entry_ = false;
};

/// The documents of an index, or of all shards of one, for another index.
class IndexDocuments {
 public:
  explicit IndexDocuments(const IndexShards& shards) : shards_(&shards) {}
  explicit IndexDocuments(const IndexReader& index) : index_(&index) {}

  /// Calls visit(document) for the documents [first, end), in their order. By several threads.
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

/// Terms on their way from the thread that finds them to another one, some at a time.
class TermNames {
 public:
  /// Adds the next term; they are numbered from 0.
  void add(std::string_view name) {
    adding_.text += name;
    adding_.ends.push_back(adding_.text.size());
  }
  /// Lets the other thread ask for the terms that were added.
  void hand_over() {
    if (adding_.ends.empty()) return;
    const term_t next = adding_.end();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::exchange(adding_, Names{next, {}, {}}));
  }
  /// A term that was handed over; to be asked for in rising order. The view is valid until the next call.
  std::string_view at(term_t number) {
    while (number >= at_hand_.end()) {
      const std::lock_guard lock(mutex_);
      at_hand_ = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::size_t i = number - at_hand_.first, begin = i == 0 ? 0 : at_hand_.ends[i - 1];
    return std::string_view(at_hand_.text).substr(begin, at_hand_.ends[i] - begin);
  }

 private:
  /// Consecutive terms.
  struct Names {
    term_t first = 0;
    std::string text;
    std::vector<std::size_t> ends;  ///< in the text

    term_t end() const { return first + static_cast<term_t>(ends.size()); }
  };

  Names adding_, at_hand_;
  std::mutex mutex_;
  std::deque<Names> waiting_;
};

}  // namespace quern
