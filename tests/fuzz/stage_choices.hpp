#pragma once
#include <cstdint>

#include "quern/codec/codec.hpp"
#include "quern/core/bytes.hpp"
#include "quern/index/build_index.hpp"
#include "quern/order/order.hpp"

namespace quern::fuzz {

/// Options of stages, chosen by a byte of the input, since each input runs the stages once.
inline OrderOptions order_choice(std::uint8_t byte) {
  OrderOptions options;
  options.by = all_orders()[byte % all_orders().size()].by;
  return options;
}

inline BuildOptions build_choice(std::uint8_t byte) {
  BuildOptions options;
  options.codec = all_codecs()[byte % all_codecs().size()]->name;
  options.codec_options.block_size = 64;
  if ((byte & 0x40) != 0) options.quantize_bits = 8;
  return options;
}

}  // namespace quern::fuzz
