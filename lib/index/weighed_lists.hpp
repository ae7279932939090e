#pragma once
#include "quern/core/weighting_model.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/index/list_source.hpp"

namespace quern {

/// Turns the frequencies of lists into the weights of a model. Thread-safe.
class PostingWeights {
 public:
  /// `lengths` by docID; they must outlive this.
  PostingWeights(const Weighting& weighting, const CollectionStatistics& statistics, const ImpactSettings& settings,
                 std::span<const std::uint32_t> lengths)
      : weighting_(weighting), statistics_(statistics), settings_(settings), lengths_(lengths) {}

  /// Replaces the frequencies of postings of one term, Posting or SpooledPosting, or for a model that weighs fields the
  /// sums that FieldFactors::join() gives; `counts` are those of the collection, and such a model uses only df.
  template <class AnyPosting>
  void set(const TermCounts& counts, std::span<AnyPosting> postings) const;

 private:
  Weighting weighting_;
  CollectionStatistics statistics_;
  ImpactSettings settings_;
  std::span<const std::uint32_t> lengths_;
};

/// The lists of an Inverter with weights instead of frequencies. The encoding threads compute them.
class WeighedLists : public ListSource {
 public:
  /// Returns a term's counts over the whole collection. Called in ascending order, once per term.
  using CountsOf = std::function<TermCounts(term_t)>;

  /// `counts_of` may be empty: then the lists have all postings of the collection. The lists must outlive this.
  WeighedLists(ListSource& lists, const PostingWeights& weights, CountsOf counts_of, std::string tmp_folder)
      : lists_(lists), weights_(weights), counts_of_(std::move(counts_of)), tmp_folder_(std::move(tmp_folder)) {}

  bool next(ListBatch& batch) override;

 private:
  std::vector<TermCounts> counts_in(Lists& lists) const;
  void weigh(std::span<Posting> postings, std::span<const TermCounts> counts) const;
  LongList weighed(const LongList& list, std::span<const TermCounts> counts) const;

  ListSource& lists_;
  PostingWeights weights_;
  CountsOf counts_of_;
  std::string tmp_folder_;
};

}  // namespace quern
