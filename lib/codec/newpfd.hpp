#pragma once
#include "quern/codec/codec.hpp"

namespace quern {

/// NewPFD (Yan, Ding, Suel, WWW 2009), as the paper of Huang et al. uses it for its block-max index: each block has
/// widths of its own, the low bits of all values in slots, and the exceptions' positions and high bits in Simple16.
/// Layout: formats/newpfd.md.
const Codec& newpfd_codec();

namespace newpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder();
}  // namespace newpfd

}  // namespace quern
