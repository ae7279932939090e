#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quern/core/bm25.hpp"
#include "quern/core/quantized.hpp"
#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// Writes the quantized impacts of an index. The size of a step depends on the greatest term score of all lists, which
/// is known only when all are written; so lists are noted as they are written, and read again for their impacts.
class ImpactSections {
 public:
  /// `top`: the greatest term score where it is known, as that of all shards is; else that of the noted lists.
  ImpactSections(unsigned bits, const CollectionStatistics& statistics, const Bm25Parameters& bm25,
                 std::optional<float> top, const Resources& resources);

  /// Notes a list of so many words; to be called for each, in the order of the terms.
  void note(const EncodedList& list, std::uint64_t words);
  /// Reads the noted lists back from the file `index` and writes their impacts: in parallel, some lists or a part of
  /// one at a time. To be called once.
  void write(const EncodingContext& context, const File& index, std::size_t jobs_in_flight, IndexImpactWriter& writer);
  /// Valid when all lists are noted.
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
  struct Job;
  class Parts;
  class Work;

  unsigned bits_;
  CollectionStatistics statistics_;
  Bm25Parameters bm25_;
  const Resources& resources_;
  RecordSpool<Row> rows_;
  std::uint64_t postings_ = 0;
  std::optional<float> given_top_;
  float top_ = 0;
};

/// What the index of a shard takes from the whole collection, so that it scores as an index of all documents does.
struct WholeOfShard {
  ShardManifest manifest;
  DocidRange docids;  ///< of the whole order: the shard's
  CollectionStatistics statistics;
  std::optional<float> quantize_top;  ///< the greatest term score, for quantized impacts
  /// The counts of a term in all documents. Terms are asked for in rising order, each once.
  std::function<TermCounts(std::string_view)> counts;
};

/// Writes the weights that the corpus gave as the impacts of an index. How many bits those of a list take depends on
/// the greatest, which is known when all of the list has been encoded; so they wait in a work file.
class WeightSections {
 public:
  WeightSections(const ImpactSettings& settings, unsigned block_size, const Resources& resources);

  /// Takes the weights of a batch's long lists, or of a piece of one, in the order of the lists.
  void add(const EncodedBatch& batch);
  /// Notes a list whose weights have been added, or one that is short and has none here.
  void end_list(const EncodedList& list);
  /// Writes all weights. To be called once.
  void write(IndexImpactWriter& writer) const;

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
