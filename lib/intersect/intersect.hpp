#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/intersect/method.hpp"
#include "quern/query/query_statistics.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// What a query's intersection took. Nothing is scored.
struct IntersectionStatistics {
  QueryStatistics counts;  ///< postings and blocks of all lists, if no term is missing; what was decoded
  double time_us = 0;      ///< from text to documents
  double decode_us = 0;    ///< of it, for decoding lists as a whole: the shortest, and all where the method wants it
  double thin_out_us = 0;  ///< of it, for thinning out, with decoding where that is done by the block
};

struct IntersectionAnswer {
  std::vector<docid_t> documents;  ///< rising
  IntersectionStatistics statistics;
};

/// Finds the documents that have all terms of a query. Many threads may share one, each with an analyzer and work space
/// of its own.
class Intersection {
 public:
  /// What a thread works with; it keeps memory from query to query.
  struct WorkSpace {
    explicit WorkSpace(const Intersection& intersection) : analyzer(intersection.index_.manifest().analyzer) {}
    Analyzer analyzer;
    std::vector<PostingList> lists;
    std::vector<docid_t> decoded;
  };

  /// The index must outlive the object.
  Intersection(const IndexReader& index, const IntersectionMethod& method, const IntersectionOptions& options)
      : index_(index), method_(method), options_(options) {}

  const IndexReader& index() const { return index_; }
  const IntersectionMethod& method() const { return method_; }
  const IntersectionOptions& options() const { return options_; }

  /// The lists of the query's terms, each once, in the order of increasing df, as space.lists. False where a term is
  /// not in the index, or where there are no terms.
  bool find_lists(std::string_view text, WorkSpace& space) const;

  /// Replaces `answer` by the query's: none where a term is not in the index, or where there are no terms. A term
  /// counts once. Lists come in the order of increasing df; none is read once no document is left.
  void answer(std::string_view text, WorkSpace& space, IntersectionAnswer& answer) const;

 private:
  void decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const;

  const IndexReader& index_;
  const IntersectionMethod& method_;
  IntersectionOptions options_;
};

/// Answers queries over `threads` threads and hands the answers to `take` in the order of the queries, in this thread.
void intersect_batch(const Intersection& intersection, std::span<const std::string_view> texts, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take);

}  // namespace quern
