#include <array>
#include <string>

#include "quern/codec/codecs.hpp"
#include "quern/codec/kernel_parts.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/codec/rice_layout.hpp"
#include "quern/core/error.hpp"

namespace quern::rice {
namespace {

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a Rice-coded ") + what); }

using Positions = std::array<std::uint32_t, max_block_size + unary_slack>;

/// The lengths in a block's header. Throws CorruptBlock if they are not all there, or can't hold n terminators.
UnaryBits read_lengths(WordView block, unsigned n) {
  if (block.empty() || block.size() < header_words(block[0])) throw_corrupt("block ends too early");
  UnaryBits lengths{block[0] & 0xffff, block[0] >> 16};
  std::size_t next = 1;
  if (lengths.docid == long_length) lengths.docid = block[next++];
  if (lengths.freq == long_length) lengths.freq = block[next];
  if (lengths.docid < n || lengths.freq < n) throw_corrupt("block has a unary part that is too short");
  return lengths;
}

/// A block whose parts all lie within it.
struct Block {
  WordView words;
  UnaryBits unary;
  Layout layout;

  Block(WordView words_, unsigned n, Widths widths)
      : words(words_), unary(read_lengths(words_, n)), layout(widths, n, unary) {
    // A short length in a word of its own would shift all that follows.
    if (header_words(words[0]) != header_words(header_word(unary)))
      throw_corrupt("block has a header that is too long");
    if (layout.words() > words.size()) throw_corrupt("block ends too early");
  }

  /// Finds the terminators of all n values, which must fill the unary part to its end.
  void find_all(const Kernels& kernels, std::uint64_t bit, std::uint32_t bits, unsigned n, Positions& positions) const {
    if (!kernels.find_terminators(words.data(), bit, bits, n, positions.data()) || positions[n - 1] != bits - 1)
      throw_corrupt("block has a unary part of another number of values");
  }
};

class RiceDecoder final : public ListDecoder {
 public:
  explicit RiceDecoder(Widths widths) : widths_(widths) {}

  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n, widths_);
    Positions positions;
    block.find_all(kernels_, block.layout.docid_unary_bit, block.unary.docid, n, positions);
    kernels_.unpack_docids(words.data(), block.layout.docid_remainders_bit, widths_.docid, n, before, out);
    // Before terminator i stand i others; all else are ones, the quotients' sum so far.
    for (unsigned i = 0; i < n; ++i) out[i] += (positions[i] - i) << widths_.docid;
  }

  std::size_t block_words(WordView words, unsigned n) const override { return Block(words, n, widths_).layout.words(); }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n, widths_);
    Positions positions;
    block.find_all(kernels_, block.layout.freq_unary_bit, block.unary.freq, n, positions);
    kernels_.unpack_freqs(words.data(), block.layout.freq_remainders_bit, widths_.freq, n, out);
    out[0] += positions[0] << widths_.freq;
    for (unsigned i = 1; i < n; ++i) out[i] += (positions[i] - positions[i - 1] - 1) << widths_.freq;
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n, widths_);
    Positions positions;
    if (!kernels_.find_terminators(words.data(), block.layout.freq_unary_bit, block.unary.freq, i + 1,
                                   positions.data()))
      throw_corrupt("block has a unary part of another number of values");
    const std::uint32_t quotient = i == 0 ? positions[0] : positions[i] - positions[i - 1] - 1;
    const std::uint64_t bit = block.layout.freq_remainders_bit + std::uint64_t{i} * widths_.freq;
    return unpack_one(words.data(), bit, widths_.freq) + (quotient << widths_.freq) + 1;
  }

 private:
  Widths widths_;
  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder(WordView list) {
  if (list.empty() || !Widths::is_valid(list[0])) throw_corrupt("list has no valid header");
  return std::make_unique<RiceDecoder>(Widths::of_word(list[0]));
}

}  // namespace quern::rice
