#include "quern/codec/rice.hpp"

namespace quern {
namespace {

class RiceCodec final : public Codec {
 public:
  std::string_view name() const override { return "rice"; }
  std::string_view description() const override {
    return "Rice coding, unary and binary parts apart, a width a list: small and fast, but scans for a single "
           "frequency";
  }
  std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) const override {
    return rice::make_encoder(options);
  }
  std::unique_ptr<ListDecoder> make_decoder(const CodecOptions&, WordView list) const override {
    return rice::make_decoder(list);
  }
  std::size_t header_words(const CodecOptions&) const override { return 1; }
};

}  // namespace

const Codec& rice_codec() {
  static const RiceCodec codec;
  return codec;
}

}  // namespace quern
