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
  if (size != 64 && size != 128 && size != 256 && size != 512)
    throw InvalidArgument("the block size must be 64, 128, 256 or 512, not " + std::to_string(size));
  if (options.recursion > 4)
    throw InvalidArgument("the recursion must be 0 to 4, not " + std::to_string(options.recursion));
}

}  // namespace quern
