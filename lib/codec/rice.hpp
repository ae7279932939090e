#pragma once
#include "quern/codec/codec.hpp"

namespace quern {

/// Rice coding (Ding et al., section 6.1): quotients in unary and remainders in binary, apart, with base sums, so that
/// docIDs come out of two prefix sums. One width of remainders a list. Layout: formats/rice.md.
const Codec& rice_codec();

namespace rice {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
/// Throws CorruptFile where `list` doesn't begin with a list header.
std::unique_ptr<ListDecoder> make_decoder(WordView list);
}  // namespace rice

}  // namespace quern
