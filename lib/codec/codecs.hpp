#pragma once
#include "quern/codec/codec.hpp"

/// The codecs with their encoders and decoders.
namespace quern {

/// NewPFD (Yan, Ding, Suel: Inverted Index Compression and Query Processing with Optimized Document Ordering, WWW
/// 2009), as Huang et al. use it for their block-max index: each block has its own slot widths. Slots hold the low bits
/// of all values; the exceptions are marked in a mask, and their high parts coded in the same way, up to three times.
/// Layout: formats/codec/newpfd.md.
const Codec& newpfd_codec();

/// Recursive PForDelta (Ding et al., section 6.2): one slot width for the whole list. The exceptions' high parts and
/// position gaps are arrays that are coded in the same way, CodecOptions::recursion times. Position gaps restart in
/// each block, so that a block decodes alone. Layout: formats/codec/rpfd.md.
const Codec& rpfd_codec();

/// Rice coding (Ding et al., section 6.1): quotients in unary and remainders in binary, apart, with base sums, so that
/// two prefix sums give the docIDs. One remainder width for the whole list. Layout: formats/codec/rice.md.
const Codec& rice_codec();

namespace newpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder();
}  // namespace newpfd

namespace old_newpfd {
std::unique_ptr<ListDecoder> make_decoder();
}  // namespace old_newpfd

namespace rpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
/// Throws CorruptFile if `list` does not begin with a list header.
std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list);
}  // namespace rpfd

namespace rice {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
/// Throws CorruptFile if `list` does not begin with a list header.
std::unique_ptr<ListDecoder> make_decoder(WordView list);
}  // namespace rice

}  // namespace quern
