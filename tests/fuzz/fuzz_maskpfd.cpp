#include "quern/codec/codec.hpp"

#include "fuzz_block_decoder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quern::fuzz::decode_block(quern::maskpfd_codec, data, size);
  return 0;
}
