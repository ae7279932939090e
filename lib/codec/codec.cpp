#include "quern/codec/codec.hpp"

#include <bit>

#include "quern/codec/rpfd_layout.hpp"
#include "quern/core/named.hpp"

namespace quern {

const Codec maskpfd_codec = {
    "maskpfd", "patched frame of reference, slot widths per block, bitmaps of exceptions: small and fast",
    maskpfd::make_encoder, [](const CodecOptions&, WordView) { return maskpfd::make_decoder(); },
    [](const CodecOptions&) { return std::size_t{0}; }};

const Codec newpfd_codec = {
    "newpfd", "NewPFD as published: slot widths per block, exceptions in Simple16: larger, and faster on GPUs",
    newpfd::make_encoder, [](const CodecOptions&, WordView) { return newpfd::make_decoder(); },
    [](const CodecOptions&) { return std::size_t{0}; }};

const Codec rpfd_codec = {
    "rpfd", "recursive PForDelta, one width per list, exceptions coded in the same way: regular blocks, for GPUs",
    rpfd::make_encoder, rpfd::make_decoder, [](const CodecOptions& options) {
      check_codec_options(options);
      return std::size_t{rpfd::list_header_words(options.recursion)};
    }};

const Codec rice_codec = {
    "rice",
    "Rice coding, separate unary and binary parts, one width per list: small and fast, but reading a single frequency "
    "needs a scan",
    rice::make_encoder, [](const CodecOptions&, WordView list) { return rice::make_decoder(list); },
    [](const CodecOptions&) { return std::size_t{1}; }};

const std::vector<const Codec*>& all_codecs() {
  static const std::vector<const Codec*> codecs = {&maskpfd_codec, &newpfd_codec, &rpfd_codec, &rice_codec};
  return codecs;
}

const Codec& codec_named(std::string_view name) { return find_named(all_codecs(), name, "codec"); }

void check_codec_options(const CodecOptions& options) {
  const unsigned size = options.block_size;
  if (size < min_block_size || size > max_block_size || !std::has_single_bit(size))
    throw InvalidArgument("the block size must be a power of two from {} to {}, not {}", min_block_size, max_block_size,
                          size);
  if (options.recursion > 4)
    throw InvalidArgument("the recursion must be 0 to 4, not " + std::to_string(options.recursion));
}

}  // namespace quern
