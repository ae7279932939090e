#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/order/make_order.hpp"

namespace quern {

/// What a codec takes in a docID order, in bits a posting. The directory is greatest docID and offset of each block,
/// which decoding needs besides the blocks.
struct CodecBits {
  const Codec* codec = nullptr;
  double docid = 0, freq = 0, directory = 0;
};

/// What a docID order costs and saves.
struct OrderFigures {
  std::string by;
  double seconds = 0;  ///< to make it, as clocks on the wall go; PageRank counts where the order goes by it
  std::optional<std::uint64_t> peak_bytes;  ///< of the whole process meanwhile; nothing where it isn't known
  double gap_entropy_bits = 0;              ///< zero-order entropy of all gaps, in bits a posting
  std::vector<CodecBits> codecs;            ///< of all_codecs()
};

/// Makes the order and, with each codec, an index in it, without a name in the folder for work files. Throws what these
/// throw.
OrderFigures measure_order(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                           unsigned block_size, const Resources& resources);

}  // namespace quern
