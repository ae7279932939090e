#include "quern/codec/codec.hpp"

#include <bit>

#include "quern/codec/rpfd_layout.hpp"
#include "quern/core/named.hpp"

namespace quern {
namespace {

class NewPfdCodec final : public Codec {
 public:
  std::string_view name() const override { return "newpfd"; }
  std::string_view description() const override {
    return "patched frame of reference, slot widths per block, bitmaps of exceptions: small and fast";
  }
  std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) const override {
    return newpfd::make_encoder(options);
  }
  std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView) const override {
    return options.old_newpfd ? old_newpfd::make_decoder() : newpfd::make_decoder();
  }
  std::size_t header_words(const CodecOptions&) const override { return 0; }
};

class RpfdCodec final : public Codec {
 public:
  std::string_view name() const override { return "rpfd"; }
  std::string_view description() const override {
    return "recursive PForDelta, one width per list, exceptions coded in the same way: regular blocks, for GPUs";
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

class RiceCodec final : public Codec {
 public:
  std::string_view name() const override { return "rice"; }
  std::string_view description() const override {
    return "Rice coding, separate unary and binary parts, one width per list: small and fast, but reading a single "
           "frequency needs a scan";
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

const Codec& newpfd_codec() {
  static const NewPfdCodec codec;
  return codec;
}

const Codec& rpfd_codec() {
  static const RpfdCodec codec;
  return codec;
}

const Codec& rice_codec() {
  static const RiceCodec codec;
  return codec;
}

const std::vector<const Codec*>& all_codecs() {
  static const std::vector<const Codec*> codecs = {&newpfd_codec(), &rpfd_codec(), &rice_codec()};
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
