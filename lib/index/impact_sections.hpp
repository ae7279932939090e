#pragma once
#include <optional>

#include "quern/core/resources.hpp"
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

}  // namespace quern
