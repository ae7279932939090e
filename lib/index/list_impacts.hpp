#pragma once
#include "quern/codec/impact_packing.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// The quantized impacts of a list, one at a time: read where they are stored, made from the frequency for short lists.
class ListImpacts {
 public:
  /// The index must have quantized impacts, and outlive the object.
  ListImpacts(const IndexReader& index, const PostingList& list)
      : index_(index),
        list_(list),
        quantize_(*index.quantizer()),
        weight_(index.quantized_weight(list)),
        average_length_(index.manifest().statistics.average_length()) {}

  /// Of the list's posting `place`, which has this docID and frequency.
  std::uint32_t at(std::uint64_t place, docid_t docid, freq_t freq) const {
    if (!list_.is_short()) {
      const unsigned block_size = index_.block_size();
      return impact_at(impact_block(list_.impacts, list_.impact_width, block_size, place / block_size),
                       list_.impact_width, static_cast<unsigned>(place % block_size));
    }
    const float constant = document_constant(index_.length(docid), average_length_, index_.manifest().bm25);
    return quantize_(weight_ * impact(freq, constant));
  }

 private:
  const IndexReader& index_;
  PostingList list_;
  ImpactQuantizer quantize_;
  float weight_;
  double average_length_;
};

}  // namespace quern
