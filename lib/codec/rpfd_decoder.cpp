#include <algorithm>
#include <string>

#include "quern/codec/rpfd.hpp"
#include "quern/codec/rpfd_layout.hpp"
#include "quern/core/error.hpp"

namespace quern::rpfd {
namespace {

[[noreturn]] void throw_corrupt(const char* what) {
  throw CorruptFile(std::string("a recursive PForDelta ") + what + "; the index is damaged: build it again");
}

struct ListWidths {
  const Shape* shape;
  Widths docids{}, freqs{};
};

/// A block whose counts were read and whose parts all lie within it.
class Block {
 public:
  Block(WordView words, unsigned n, const ListWidths& list) : words_(words), list_(list) {
    std::uint32_t bit = 0;
    const auto read = [&](unsigned bits, unsigned values) {
      if (bit + bits > 32 * std::uint64_t{words_.size()}) throw_corrupt("block ends too early");
      const std::uint32_t count = unpack_one(words_.data(), bit, bits);
      if (count > values) throw_corrupt("block has more exceptions than values");
      bit += bits;
      return count;
    };
    layout_.docids.count(*list.shape, list.docids, n, read);
    layout_.freqs.count(*list.shape, list.freqs, n, read);
    layout_.place(*list.shape, list.docids, list.freqs, bit);
    if (layout_.words > words_.size()) throw_corrupt("block ends too early");
  }

  std::size_t words() const { return layout_.words; }
  void decode_docids(std::uint32_t* out) const { decode(layout_.docids, list_.docids, 0, out); }
  void decode_freqs(std::uint32_t* out) const { decode(layout_.freqs, list_.freqs, 0, out); }

  std::uint32_t freq_at(unsigned i) const {
    const Stream& stream = layout_.freqs;
    const unsigned width = list_.freqs[0], count = stream.exceptions[0];
    std::uint32_t value = unpack_one(words_.data(), stream.slots_bit[0] + std::uint64_t{i} * width, width);
    if (count == 0) return value;
    Values gaps, highs;
    decode_positions(stream, list_.freqs, 0, gaps);
    std::uint32_t next = 0;
    for (unsigned e = 0; e < count && next <= i; ++e, ++next) {
      next += gaps[e];
      if (next != i) continue;
      decode_highs(stream, list_.freqs, 0, highs);
      value += high_part(highs[e], width);
    }
    return value;
  }

 private:
  /// Room for unpack() to write over.
  using Values = std::array<std::uint32_t, max_block_size + over_write_values>;

  static std::uint32_t high_part(std::uint32_t high, unsigned width) {
    return static_cast<std::uint32_t>((std::uint64_t{high} + 1) << width);
  }

  /// All values of an array, its exceptions in place. At most max_recursion + 1 deep.
  void decode(const Stream& stream, const Widths& widths, unsigned array, std::uint32_t* out) const {
    unpack(words_.data(), stream.slots_bit[array], widths[array], stream.values[array], out);
    const unsigned count = stream.exceptions[array];
    if (count == 0) return;
    Values highs, gaps;
    decode_highs(stream, widths, array, highs);
    decode_positions(stream, widths, array, gaps);
    std::uint64_t position = 0;
    for (unsigned e = 0; e < count; ++e, ++position) {
      position += gaps[e];
      if (position >= stream.values[array]) throw_corrupt("block has an exception behind its last value");
      out[position] += high_part(highs[e], widths[array]);
    }
  }

  void decode_highs(const Stream& stream, const Widths& widths, unsigned array, Values& out) const {
    const unsigned child = list_.shape->arrays[array].highs;
    if (child != 0) return decode(stream, widths, child, out.data());
    const WordView raw = words_.subspan(stream.raw_word[array], stream.exceptions[array]);
    std::copy(raw.begin(), raw.end(), out.begin());
  }

  void decode_positions(const Stream& stream, const Widths& widths, unsigned array, Values& out) const {
    const unsigned child = list_.shape->arrays[array].positions, count = stream.exceptions[array];
    if (child != 0) return decode(stream, widths, child, out.data());
    const WordView raw = words_.subspan(stream.raw_word[array] + count, count);
    std::copy(raw.begin(), raw.end(), out.begin());
  }

  WordView words_;
  const ListWidths& list_;
  Layout layout_;
};

class RpfdDecoder final : public ListDecoder {
 public:
  explicit RpfdDecoder(const ListWidths& list) : list_(list) {}

  std::size_t decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n, list_);
    block.decode_docids(out);
    sum_gaps(out, n, before);
    return block.words();
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    Block(words, n, list_).decode_freqs(out);
    add_to_all(out, n, 1);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    return Block(words, n, list_).freq_at(i) + 1;
  }

 private:
  ListWidths list_;
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list) {
  check_codec_options(options);
  if (list.size() < list_header_words(options.recursion)) throw_corrupt("list has no whole header");
  ListWidths widths{&shapes[options.recursion]};
  std::uint32_t bit = 0;
  for (Widths* of_stream : {&widths.docids, &widths.freqs})
    for (unsigned i = 0; i < widths.shape->size; ++i, bit += code_bits)
      (*of_stream)[i] = static_cast<std::uint8_t>(width_of_code(unpack_one(list.data(), bit, code_bits)));
  if (unpack_one(list.data(), bit, 32 * list_header_words(options.recursion) - bit) != 0)
    throw_corrupt("list has a header with bits that mean nothing");
  return std::make_unique<RpfdDecoder>(widths);
}

}  // namespace quern::rpfd
