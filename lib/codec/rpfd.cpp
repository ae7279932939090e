#include "quern/codec/rpfd.hpp"

#include "quern/codec/rpfd_layout.hpp"

namespace quern {
namespace {

class RpfdCodec final : public Codec {
 public:
  std::string_view name() const override { return "rpfd"; }
  std::string_view description() const override {
    return "recursive PForDelta, a width a list, exceptions coded the same way: regular blocks, for GPUs";
  }
  std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) const override {
    return rpfd::make_encoder(options);
  }
  std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list) const override {
    return rpfd::make_decoder(options, list);
  }
  std::size_t header_words(const CodecOptions& options) const override {
    check_codec_options(options);
    return rpfd::list_header_words(options.recursion);
  }
};

}  // namespace

const Codec& rpfd_codec() {
  static const RpfdCodec codec;
  return codec;
}

}  // namespace quern
