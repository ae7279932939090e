#pragma once
#include <cstdint>
#include <string>

#include "quern/core/given_impacts.hpp"
#include "quern/core/resources.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/io/spool.hpp"

namespace quern {

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
