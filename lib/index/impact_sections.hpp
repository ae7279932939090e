#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// Writes the quantized impacts of an index. The step size depends on the greatest term score of all lists, known only
/// after all are written; so lists are noted when written and read again for their impacts.
class ImpactSections {
 public:
  /// `top`: the greatest term score if known (for shards, that of the whole index); otherwise that of the noted lists.
  ImpactSections(unsigned bits, const CollectionStatistics& statistics, const Bm25Parameters& bm25,
                 std::optional<float> top, const Resources& resources);

  /// Notes a list and its number of words; call for each list, in term order.
  void note(const EncodedList& list, std::uint64_t words);
  /// Reads the noted lists back from the file `index` and writes their impacts in parallel. Call once.
  void write(const EncodingContext& context, const File& index, std::size_t jobs_in_flight, IndexWriter& writer);
  /// Valid after all lists are noted.
  ImpactQuantizer quantizer() const { return {given_top_.value_or(top_), bits_}; }

 private:
  /// A list of more than max_short_list postings.
  struct Row {
    std::uint64_t words = 0;
    std::uint32_t df = 0;
    float max_impact = 0;
    float weight = 0;
  };
  float weight_of(const EncodedList& list) const {
    return quantized_weight(list.whole ? list.whole->df : list.df, statistics_, bm25_);
  }
  struct Part;
  class Job;
  class Parts;

  unsigned bits_;
  CollectionStatistics statistics_;
  Bm25Parameters bm25_;
  const Resources& resources_;
  RecordSpool<Row> rows_;
  std::uint64_t postings_ = 0;
  std::optional<float> given_top_;
  float top_ = 0;
};

/// Context of a shard: what it needs from the whole collection to score like an index of all documents.
struct CollectionContext {
  ShardManifest manifest;
  DocidRange docids;  ///< the shard's range of the whole order
  CollectionStatistics statistics;
  std::optional<float> quantize_top;  ///< the greatest term score, for quantized impacts
  /// Returns a term's counts over all documents; call in ascending term order, once per term.
  using Counts = std::function<TermCounts(std::string_view)>;
  /// Begins to look up counts; each result is independent of others.
  std::function<Counts()> counts;
};

/// Writes weights from the corpus as the impacts of an index. A list's bit width depends on its greatest weight, known
/// only after encoding the list; so weights wait in a work file.
class WeightSections {
 public:
  WeightSections(const ImpactSettings& settings, unsigned block_size, const Resources& resources);

  /// Adds the weights of a batch's long lists, or of a piece of one, in list order.
  void add(const EncodedBatch& batch);
  /// Ends a list whose weights were added, or a short one, which has none here.
  void end_list(const EncodedList& list);
  /// Writes all weights. Call once.
  void write(IndexWriter& writer) const;

 private:
  /// A list of more than max_short_list postings.
  struct Row {
    std::uint32_t df = 0;
    std::uint32_t max_weight = 0;
  };

  ImpactSettings settings_;
  unsigned block_size_;
  const Resources& resources_;
  RecordSpool<std::uint16_t> weights_;
  RecordSpool<Row> rows_;
};

}  // namespace quern
