#pragma once
#include "quern/core/parallel_batch.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_statistics.hpp"
#include "quern/search/query_terms.hpp"

/// Methods to intersect posting lists without scores: the documents of the shortest list are intersected with one
/// longer list after another.
namespace quern {

struct IntersectionOptions {
  /// Stride only: docIDs per segment. Wu et al. give no length.
  unsigned segment = 32;
};

/// Keeps the docIDs of `common` (ascending) that are also in `list`. Exactly one of the two functions is set.
struct IntersectionMethod {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Intersects with a fully decoded list of at least one docID.
  void (*intersect_decoded)(std::vector<docid_t>& common, std::span<const docid_t> list,
                            const IntersectionOptions& options) = nullptr;
  /// Intersects at least one docID with a list, and decodes its blocks as needed.
  void (*intersect_coded)(std::vector<docid_t>& common, BlockReader& list) = nullptr;
  /// Whether IntersectionOptions::segment matters.
  bool uses_segment = false;
  /// Whether it makes RowBuckets of each longer list.
  bool cuts_rows = false;
};

/// All methods, in the order of help texts; the first is the default. Add new ones here.
const std::vector<IntersectionMethod>& all_intersection_methods();

/// Throws InvalidArgument, listing all names, if the name is unknown.
const IntersectionMethod& intersection_method_named(std::string_view name);

/// The cost of intersecting a query's lists. Nothing is scored.
struct IntersectionStatistics {
  QueryStatistics counts;   ///< postings and blocks of all lists, if no term is missing; blocks decoded
  double time_us = 0;       ///< from terms to documents
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
  /// One thread's buffers, reused from query to query.
  struct WorkSpace {
    std::vector<PostingList> lists;
    std::vector<docid_t> decoded;
  };

  /// `memory`: budget of running queries. Throws InvalidArgument if the segment is 0. The index must outlive the
  /// object.
  Intersection(const IndexReader& index, const IntersectionMethod& method, const IntersectionOptions& options,
               QueryMemory memory = {})
      : index_(index), method_(method), options_(options), memory_(std::move(memory)) {
    check_range("segment", options.segment, 1, 1u << 30);
  }

  const IndexReader& index() const { return index_; }
  const IntersectionMethod& method() const { return method_; }
  const IntersectionOptions& options() const { return options_; }
  /// A reader of queries, which must not outlive the object.
  QueryReader reader(QueryKind kind = QueryKind::text) const {
    return {index_.manifest().analyzer, kind, std::nullopt, &memory_};
  }

  /// Puts the lists of the query's terms into space.lists, by ascending df. False if a term is not in the index, or if
  /// there are no terms. `remembered` caches terms of earlier queries.
  bool find_lists(QueryView query, WorkSpace& space, FoundTerms* remembered = nullptr) const;

  /// Replaces `answer` by the query's: no documents if a term is not in the index, or if there are no terms. Reads
  /// lists by ascending df, and stops once no document is left. Throws InvalidArgument if the memory for queries is too
  /// small.
  void answer(QueryView query, WorkSpace& space, IntersectionAnswer& answer) const;

 private:
  friend void intersect_batch(const Intersection&, std::span<const QueryView>, unsigned,
                              const std::function<void(std::size_t, const IntersectionAnswer&)>&, std::uint64_t);

  /// Also adds the answer's bytes to `held`. False, without an answer, if the query must run alone but the held answers
  /// have used up their memory.
  bool answer_unless_full(QueryView query, WorkSpace& space, IntersectionAnswer& answer, HeldAnswer& held) const;
  void decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const;

  const IndexReader& index_;
  const IntersectionMethod& method_;
  IntersectionOptions options_;
  QueryMemory memory_;
};

/// Answers queries on `threads` threads and passes the answers to `take` in the order of the queries, in this thread.
/// Waiting answers take about `held_bytes` at most.
void intersect_batch(const Intersection& intersection, std::span<const QueryView> queries, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take,
                     std::uint64_t held_bytes = default_held_bytes);

}  // namespace quern
