#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "quern/core/check_range.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/search/found_terms.hpp"
#include "quern/search/method.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_statistics.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// The cost of intersecting a query's lists. Nothing is scored.
struct IntersectionStatistics {
  QueryStatistics counts;   ///< postings and blocks of all lists, if no term is missing; blocks decoded
  double time_us = 0;       ///< from text to documents
  double decode_us = 0;     ///< of it, for decoding whole lists: the shortest, and all if the method needs them
  double intersect_us = 0;  ///< of it, for intersecting, including decoding block by block
};

struct IntersectionAnswer {
  std::vector<docid_t> documents;  ///< ascending
  IntersectionStatistics statistics;
};

/// Finds the documents that contain all terms of a query. Threads may share one, each with its own WorkSpace.
class Intersection {
 public:
  /// An analyzer and buffers for one thread, which keep their memory from query to query.
  struct WorkSpace {
    explicit WorkSpace(const Intersection& intersection) : analyzer(intersection.index_.manifest().analyzer) {}
    Analyzer analyzer;
    std::vector<PostingList> lists;
    std::vector<docid_t> decoded;
  };

  /// Throws InvalidArgument for a segment of no docIDs. The index must outlive the object.
  /// `memory`: for queries while they run.
  Intersection(const IndexReader& index, const IntersectionMethod& method, const IntersectionOptions& options,
               QueryMemory memory = {})
      : index_(index), method_(method), options_(options), memory_(std::move(memory)) {
    check_range("segment", options.segment, 1, 1u << 30);
  }

  const IndexReader& index() const { return index_; }
  const IntersectionMethod& method() const { return method_; }
  const IntersectionOptions& options() const { return options_; }

  /// Puts the lists of the query's distinct terms in space.lists, by ascending df. False if a term is not in the index,
  /// or if there are no terms. Engines that answer many queries may remember the terms of earlier ones.
  bool find_lists(std::string_view text, WorkSpace& space, FoundTerms* remembered = nullptr) const;

  /// Replaces `answer` by the query's: no documents if a term is not in the index, or if there are no terms. Each
  /// distinct term counts once. Reads lists by ascending df, and stops once no document is left. Throws InvalidArgument
  /// if the memory for queries is too small.
  void answer(std::string_view text, WorkSpace& space, IntersectionAnswer& answer) const;

 private:
  friend void intersect_batch(const Intersection&, std::span<const std::string_view>, unsigned,
                              const std::function<void(std::size_t, const IntersectionAnswer&)>&, std::uint64_t);

  /// The same, and adds its bytes to those that are held; false, without an answer, if it is too large to run beside
  /// others and they are full.
  bool answer_unless_full(std::string_view text, WorkSpace& space, IntersectionAnswer& answer, HeldAnswer& held) const;
  void decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const;

  const IndexReader& index_;
  const IntersectionMethod& method_;
  IntersectionOptions options_;
  QueryMemory memory_;
};

/// Answers queries on `threads` threads and passes the answers to `take` in the order of the queries, in this thread.
/// Answers that wait for their turn take about `held_bytes` at most.
void intersect_batch(const Intersection& intersection, std::span<const std::string_view> texts, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take,
                     std::uint64_t held_bytes = default_held_bytes);

}  // namespace quern
