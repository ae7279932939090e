#include <cstring>

#include "quern/codec/codec.hpp"
#include "quern/codec/rpfd_layout.hpp"

namespace quern::rpfd {
namespace {

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a recursive PForDelta ") + what); }

struct ListWidths {
  Widths docids{}, freqs{};
};

/// Reads the counts at the start of a block in order.
class CountReader {
 public:
  explicit CountReader(WordView words) : words_(words) { refill(); }

  std::uint32_t operator()(unsigned bits, unsigned values) {
    if (pending_bits_ < bits) refill();
    const std::uint32_t count = static_cast<std::uint32_t>(pending_) & low_mask(bits);
    pending_ >>= bits;
    pending_bits_ -= bits;
    bit_ += bits;
    if (count > values) throw_corrupt("block has more exceptions than values");
    return count;
  }

  /// The position after the counts read so far.
  std::uint32_t bit() const { return bit_; }

 private:
  void refill() {
    if (bit_ > 32 * std::uint64_t{words_.size()}) throw_corrupt("block ends too early");
    std::memcpy(&pending_, reinterpret_cast<const char*>(words_.data()) + bit_ / 8, sizeof pending_);
    pending_ >>= bit_ % 8;
    pending_bits_ = 64 - bit_ % 8;
  }

  WordView words_;
  std::uint64_t pending_ = 0;
  unsigned pending_bits_ = 0;
  std::uint32_t bit_ = 0;
};

/// A block whose counts were read and whose parts are known to lie within it. The recursion is a template parameter, so
/// that loops over arrays unroll.
template <unsigned recursion>
class Block {
 public:
  Block(const Kernels& kernels, WordView words, unsigned n, const ListWidths& list)
      : kernels_(kernels), words_(words), list_(list) {
    CountReader read(words);
    layout_.docids.count(shape, list.docids, n, read);
    layout_.freqs.count(shape, list.freqs, n, read);
    layout_.place(shape, list.docids, list.freqs, read.bit());
    if (layout_.words > words_.size()) throw_corrupt("block ends too early");
  }

  std::size_t words() const { return layout_.words; }

  void decode_docids(docid_t before, docid_t* out) const {
    const Stream& stream = layout_.docids;
    const std::uint32_t bit = stream.slots_bit[0], width = list_.docids[0], n = stream.values[0];
    if (stream.exceptions[0] == 0) return kernels_.unpack_docids(words_.data(), bit, width, n, before, out);
    PlacedHighs<std::uint32_t> highs;
    place(stream, list_.docids, highs);
    kernels_.unpack_docids_wide(words_.data(), bit, width, n, before, highs.data(), out);
  }

  void decode_freqs(freq_t* out) const {
    const Stream& stream = layout_.freqs;
    const std::uint32_t bit = stream.slots_bit[0], width = list_.freqs[0], n = stream.values[0];
    if (stream.exceptions[0] == 0) return kernels_.unpack_freqs(words_.data(), bit, width, n, out);
    PlacedHighs<std::uint32_t> highs;
    place(stream, list_.freqs, highs);
    kernels_.unpack_freqs_wide(words_.data(), bit, width, n, highs.data(), out);
  }

  freq_t freq_at(unsigned i) const {
    const Stream& stream = layout_.freqs;
    const unsigned width = list_.freqs[0], count = stream.exceptions[0];
    const freq_t freq = unpack_one(words_.data(), stream.slots_bit[0] + std::uint64_t{i} * width, width) + 1;
    if (count == 0) return freq;
    Values gaps, highs;
    decode_positions(stream, list_.freqs, 0, gaps);
    std::uint64_t position = 0;
    for (unsigned e = 0; e < count && position <= i; ++e, ++position) {
      position += gaps.data()[e];
      if (position != i) continue;
      decode_highs(stream, list_.freqs, 0, highs);
      return freq + patch_of(highs.data()[e], width);
    }
    return freq;
  }

 private:
  static constexpr const Shape& shape = shapes[recursion];
  /// Includes space for unpacking to overrun.
  using Values = ExceptionValues<std::uint32_t, max_block_size + over_write_values>;

  /// Places the high parts of a stream, which must have exceptions, at their values' positions.
  void place(const Stream& stream, const Widths& widths, PlacedHighs<std::uint32_t>& to) const {
    Values highs, gaps;
    decode_highs(stream, widths, 0, highs);
    decode_positions(stream, widths, 0, gaps);
    if (!to.place(gaps.data(), highs.data(), stream.exceptions[0], stream.values[0])) throw_behind();
  }

  [[noreturn]] static void throw_behind() { throw_corrupt("block has an exception past its last value"); }

  /// Decodes all values of a nested array, exceptions included. Recurses at most max_recursion times.
  void decode(const Stream& stream, const Widths& widths, unsigned array, std::uint32_t* out) const {
    kernels_.unpack(words_.data(), stream.slots_bit[array], widths[array], stream.values[array], out);
    if (stream.exceptions[array] != 0) patch(stream, widths, array, out);
  }

  void patch(const Stream& stream, const Widths& widths, unsigned array, std::uint32_t* out) const {
    Values highs, gaps;
    decode_highs(stream, widths, array, highs);
    decode_positions(stream, widths, array, gaps);
    std::uint64_t position = 0;
    for (unsigned e = 0; e < stream.exceptions[array]; ++e, ++position) {
      position += gaps.data()[e];
      if (position >= stream.values[array]) throw_behind();
      out[position] += patch_of(highs.data()[e], widths[array]);
    }
  }

  void decode_highs(const Stream& stream, const Widths& widths, unsigned array, Values& out) const {
    const unsigned child = shape.arrays[array].highs;
    if (child != 0) return decode(stream, widths, child, out.data());
    const WordView raw = words_.subspan(stream.raw_word[array], stream.exceptions[array]);
    std::copy(raw.begin(), raw.end(), out.data());
  }

  void decode_positions(const Stream& stream, const Widths& widths, unsigned array, Values& out) const {
    const unsigned child = shape.arrays[array].positions, count = stream.exceptions[array];
    if (child != 0) return decode(stream, widths, child, out.data());
    const WordView raw = words_.subspan(stream.raw_word[array] + count, count);
    std::copy(raw.begin(), raw.end(), out.data());
  }

  const Kernels& kernels_;
  WordView words_;
  const ListWidths& list_;
  Layout layout_;
};

template <unsigned recursion>
class RpfdDecoder final : public ListDecoder {
 public:
  explicit RpfdDecoder(const ListWidths& list) : list_(list) {}

  bool decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    block(words, n).decode_docids(before, out);
    return false;
  }
  std::size_t block_words(WordView words, unsigned n) const override { return block(words, n).words(); }
  void decode_freqs(WordView words, unsigned n, freq_t* out) const override { block(words, n).decode_freqs(out); }
  freq_t freq_at(WordView words, unsigned n, unsigned i) const override { return block(words, n).freq_at(i); }

 private:
  Block<recursion> block(WordView words, unsigned n) const { return {kernels_, words, n, list_}; }

  ListWidths list_;
  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list) {
  check_codec_options(options);
  if (list.size() < list_header_words(options.recursion)) throw_corrupt("list has an incomplete header");
  ListWidths widths;
  const unsigned arrays = arrays_of(options.recursion);
  std::uint32_t bit = 0;
  for (Widths* stream_widths : {&widths.docids, &widths.freqs})
    for (unsigned i = 0; i < arrays; ++i, bit += code_bits)
      (*stream_widths)[i] = static_cast<std::uint8_t>(width_of_code(unpack_one(list.data(), bit, code_bits)));
  if (unpack_one(list.data(), bit, 32 * list_header_words(options.recursion) - bit) != 0)
    throw_corrupt("list has a header with unused bits set");
  switch (options.recursion) {
    case 0:
      return std::make_unique<RpfdDecoder<0>>(widths);
    case 1:
      return std::make_unique<RpfdDecoder<1>>(widths);
    case 2:
      return std::make_unique<RpfdDecoder<2>>(widths);
    case 3:
      return std::make_unique<RpfdDecoder<3>>(widths);
    default:
      return std::make_unique<RpfdDecoder<4>>(widths);
  }
}

}  // namespace quern::rpfd
