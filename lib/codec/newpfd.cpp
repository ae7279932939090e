#include "quern/codec/newpfd.hpp"

namespace quern {
namespace {

class NewPfdCodec final : public Codec {
 public:
  std::string_view name() const override { return "newpfd"; }
  std::string_view description() const override {
    return "patched frame of reference, a width a block, exceptions in Simple16: small and fast";
  }
  std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) const override {
    return newpfd::make_encoder(options);
  }
  std::unique_ptr<ListDecoder> make_decoder(const CodecOptions&, WordView) const override {
    return newpfd::make_decoder();
  }
  std::size_t header_words(const CodecOptions&) const override { return 0; }
};

}  // namespace

const Codec& newpfd_codec() {
  static const NewPfdCodec codec;
  return codec;
}

}  // namespace quern
