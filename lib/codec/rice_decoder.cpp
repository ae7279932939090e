#include <array>
#include <string>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/codec/rice_layout.hpp"
#include "quern/core/error.hpp"

namespace quern::rice {
namespace {

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a Rice-coded ") + what); }

constexpr const char* wrong_count = "block has a unary part with the wrong number of values";

/// Positions of the terminators in a unary part.
template <class Position>
class Terminators {
 public:
  /// Position -1 precedes the first terminator.
  Terminators() { all_[lead - 1] = static_cast<Position>(-1); }

  /// Finds the first n terminators. Returns false if there are fewer.
  bool find(const Kernels& kernels, const std::uint32_t* words, std::uint64_t bit, std::uint32_t bits, unsigned n) {
    Position* const to = all_.data() + lead;
    if constexpr (sizeof(Position) == 2) return kernels.find_terminators(words, bit, bits, n, to);
    return find_each_terminator(words, bit, bits, n, to);
  }

  const Position* data() const { return all_.data() + lead; }

 private:
  static constexpr unsigned lead = 64 / sizeof(Position);
  alignas(64) std::array<Position, lead + max_block_size + unary_slack> all_;
};

/// Reads the lengths in a block's header. Throws CorruptBlock if they are incomplete or too small for n terminators.
UnaryBits read_lengths(WordView block, unsigned n) {
  if (block.empty() || block.size() < header_words(block[0])) throw_corrupt("block ends too early");
  UnaryBits lengths{block[0] & 0xffff, block[0] >> 16};
  std::size_t next = 1;
  if (lengths.docid == long_length) lengths.docid = block[next++];
  if (lengths.freq == long_length) lengths.freq = block[next];
  if (lengths.docid < n || lengths.freq < n) throw_corrupt("block has a unary part that is too short");
  return lengths;
}

/// A block whose parts are known to lie within it.
struct Block {
  WordView words;
  UnaryBits unary;
  Layout layout;

  Block(WordView words_, unsigned n, Widths widths)
      : words(words_), unary(read_lengths(words_, n)), layout(widths, n, unary) {
    // A short length in a separate word would shift the layout.
    if (header_words(words[0]) != header_words(header_word(unary)))
      throw_corrupt("block has a header that is too long");
    if (layout.words() > words.size()) throw_corrupt("block ends too early");
  }

  /// Finds the terminators of all n values; the last must be the unary part's last bit.
  template <class Position>
  void find_all(const Kernels& kernels, std::uint64_t bit, std::uint32_t bits, unsigned n,
                Terminators<Position>& terminators) const {
    if (!terminators.find(kernels, words.data(), bit, bits, n) || terminators.data()[n - 1] != bits - 1)
      throw_corrupt(wrong_count);
  }
};

/// Whether positions in a unary part need more than 16 bits.
constexpr bool is_far(std::uint32_t bits) { return bits > max_near_bits; }

class RiceDecoder final : public ListDecoder {
 public:
  explicit RiceDecoder(Widths widths) : widths_(widths) {}

  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n, widths_);
    kernels_.unpack_docids(words.data(), block.layout.docid_remainders_bit, widths_.docid, n, before, out);
    if (is_far(block.unary.docid)) return add_far_docid_quotients(block, n, out);
    Terminators<std::uint16_t> terminators;
    block.find_all(kernels_, block.layout.docid_unary_bit, block.unary.docid, n, terminators);
    kernels_.add_summed_quotients(terminators.data(), widths_.docid, n, out);
  }

  std::size_t block_words(WordView words, unsigned n) const override { return Block(words, n, widths_).layout.words(); }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n, widths_);
    kernels_.unpack_freqs(words.data(), block.layout.freq_remainders_bit, widths_.freq, n, out);
    if (is_far(block.unary.freq)) return add_far_freq_quotients(block, n, out);
    Terminators<std::uint16_t> terminators;
    block.find_all(kernels_, block.layout.freq_unary_bit, block.unary.freq, n, terminators);
    kernels_.add_quotients(terminators.data(), widths_.freq, n, out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n, widths_);
    const std::uint32_t quotient =
        is_far(block.unary.freq) ? freq_quotient<std::uint32_t>(block, i) : freq_quotient<std::uint16_t>(block, i);
    const std::uint64_t bit = block.layout.freq_remainders_bit + std::uint64_t{i} * widths_.freq;
    return unpack_one(words.data(), bit, widths_.freq) + (quotient << widths_.freq) + 1;
  }

 private:
  template <class Position>
  std::uint32_t freq_quotient(const Block& block, unsigned i) const {
    Terminators<Position> terminators;
    if (!terminators.find(kernels_, block.words.data(), block.layout.freq_unary_bit, block.unary.freq, i + 1))
      throw_corrupt(wrong_count);
    return quotient_at(terminators.data(), i);
  }

  void add_far_docid_quotients(const Block& block, unsigned n, docid_t* out) const {
    Terminators<std::uint32_t> terminators;
    block.find_all(kernels_, block.layout.docid_unary_bit, block.unary.docid, n, terminators);
    add_each_summed_quotient(terminators.data(), widths_.docid, n, out);
  }
  void add_far_freq_quotients(const Block& block, unsigned n, freq_t* out) const {
    Terminators<std::uint32_t> terminators;
    block.find_all(kernels_, block.layout.freq_unary_bit, block.unary.freq, n, terminators);
    add_each_quotient(terminators.data(), widths_.freq, n, out);
  }

  Widths widths_;
  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder(WordView list) {
  if (list.empty() || !Widths::is_valid(list[0])) throw_corrupt("list has no valid header");
  return std::make_unique<RiceDecoder>(Widths::from_word(list[0]));
}

}  // namespace quern::rice
