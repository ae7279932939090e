#pragma once
#include "quern/codec/codec.hpp"

namespace quern {

/// Recursive PForDelta (Ding et al., section 6.2): one slot width for the whole list; the exceptions' high parts and
/// position gaps are arrays that are coded in the same way, CodecOptions::recursion times. Position gaps restart in
/// each block, so that a block decodes alone. Layout: formats/rpfd.md.
const Codec& rpfd_codec();

namespace rpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
/// Throws CorruptFile where `list` doesn't begin with a list header.
std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list);
}  // namespace rpfd

}  // namespace quern
