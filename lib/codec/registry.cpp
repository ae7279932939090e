#include <fmt/format.h>

#include <bit>
#include <string>

#include "quern/codec/codec.hpp"
#include "quern/codec/newpfd.hpp"
#include "quern/codec/rice.hpp"
#include "quern/codec/rpfd.hpp"
#include "quern/core/error.hpp"
#include "quern/core/named.hpp"

namespace quern {

const std::vector<const Codec*>& all_codecs() {
  static const std::vector<const Codec*> codecs = {&newpfd_codec(), &rpfd_codec(), &rice_codec()};
  return codecs;
}

const Codec& codec_named(std::string_view name) { return find_named(all_codecs(), name, "codec"); }

void check_codec_options(const CodecOptions& options) {
  const unsigned size = options.block_size;
  if (size < min_block_size || size > max_block_size || !std::has_single_bit(size))
    throw InvalidArgument(fmt::format("the block size must be a power of two from {} to {}, not {}", min_block_size,
                                      max_block_size, size));
  if (options.recursion > 4)
    throw InvalidArgument("the recursion must be 0 to 4, not " + std::to_string(options.recursion));
}

}  // namespace quern
