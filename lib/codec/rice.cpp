#include "quern/codec/rice.hpp"

#include <limits>

#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"

namespace quern::rice {
namespace {

/// Counts, for each bit, the list's values with that bit set: gives the exact sum of value >> b for every b.
class BitCounts {
 public:
  void clear() { counts_ = {}; }

  void add(std::span<const std::uint32_t> values) {
    std::array<std::uint32_t, 32> counts{};
    for (const std::uint32_t value : values)
      for (unsigned bit = 0; bit < 32; ++bit) counts[bit] += value >> bit & 1;
    for (unsigned bit = 0; bit < 32; ++bit) counts_[bit] += counts[bit];
  }

  /// The width for which n values take the fewest bits, remainders and unary quotients together. It is close to the
  /// logarithm of the mean.
  unsigned best_width(std::uint64_t n) const {
    unsigned best = max_width;
    // Doubles can't overflow here, and IEEE arithmetic gives the same choice on every machine.
    double least = std::numeric_limits<double>::infinity(), quotients = 0;
    for (unsigned bit = 32; bit-- > 0;) {
      quotients = 2 * quotients + static_cast<double>(counts_[bit]);
      if (bit > max_width) continue;
      const double cost = static_cast<double>(n) * bit + static_cast<double>(n) + quotients;
      if (cost >= least) continue;
      least = cost;
      best = bit;
    }
    return best;
  }

 private:
  std::array<std::uint64_t, 32> counts_{};
};

/// Bits of the values in unary code. Throws InvalidArgument if they exceed a length field.
std::uint32_t unary_bits(std::span<const std::uint32_t> values, unsigned width) {
  std::uint64_t bits = values.size();
  for (const std::uint32_t value : values) bits += value >> width;
  if (bits > std::numeric_limits<std::uint32_t>::max())
    throw InvalidArgument("a list's values differ too much for Rice coding; use another codec");
  return static_cast<std::uint32_t>(bits);
}

void append_unary(BitAppender& to, std::uint32_t value) {
  constexpr unsigned step = 56;
  for (; value >= step; value -= step) to.append((std::uint64_t{1} << step) - 1, step);
  to.append((std::uint64_t{1} << value) - 1, value + 1);
}

void write_unary(std::span<const std::uint32_t> values, unsigned width, std::uint32_t* block, std::uint64_t bit) {
  BitAppender to(block, bit);
  for (const std::uint32_t value : values) append_unary(to, value >> width);
}

class RiceEncoder final : public ListEncoder {
 public:
  explicit RiceEncoder(const CodecOptions& options) : observed_(options.block_size), coded_(options.block_size) {}

  void start_list() override {
    observed_.restart();
    coded_.restart();
    docid_counts_.clear();
    freq_counts_.clear();
    bits_ = {};
  }

  bool needs_statistics() const override { return true; }
  void observe(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs) override {
    observed_.accept(gaps, freqs);
    docid_counts_.add(gaps);
    freq_counts_.add(freqs);
  }

  void put_header(Words& out) override {
    widths_.docid = docid_counts_.best_width(observed_.postings());
    widths_.freq = freq_counts_.best_width(observed_.postings());
    out.push_back(widths_.word());
    bits_ = {Widths::docid_bits, Widths::freq_bits};
  }

  void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) override {
    coded_.accept(gaps, freqs);
    const auto n = static_cast<unsigned>(gaps.size());
    const UnaryBits unary{unary_bits(gaps, widths_.docid), unary_bits(freqs, widths_.freq)};
    const Layout layout(widths_, n, unary);
    const std::size_t start = out.size();
    out.resize(start + layout.words() + pack_slack_words);
    std::uint32_t* const block = out.data() + start;
    write_header(unary, block);
    pack(gaps.data(), n, widths_.docid, block, layout.docid_remainders_bit);
    pack(freqs.data(), n, widths_.freq, block, layout.freq_remainders_bit);
    write_unary(gaps, widths_.docid, block, layout.docid_unary_bit);
    write_unary(freqs, widths_.freq, block, layout.freq_unary_bit);
    out.resize(start + layout.words());
    count_bits(n, unary, layout);
  }

  CodedBits bits() const override { return bits_; }

 private:
  static void write_header(UnaryBits unary, std::uint32_t* block) {
    *block++ = header_word(unary);
    if (is_long(unary.docid)) *block++ = unary.docid;
    if (is_long(unary.freq)) *block = unary.freq;
  }

  void count_bits(unsigned n, UnaryBits unary, const Layout& layout) {
    const std::uint64_t freq_bits = 16 + (is_long(unary.freq) ? 32 : 0) + std::uint64_t{n} * widths_.freq + unary.freq;
    bits_.freq_bits += freq_bits;
    bits_.docid_bits += 32 * layout.words() - freq_bits;
  }

  BlockOrder observed_, coded_;
  BitCounts docid_counts_, freq_counts_;
  Widths widths_;
  CodedBits bits_;
};

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

  bool decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n, widths_);
    kernels_.unpack_docids(words.data(), block.layout.docid_remainders_bit, widths_.docid, n, before, out);
    if (is_far(block.unary.docid)) {
      add_far_docid_quotients(block, n, out);
      return false;
    }
    Terminators<std::uint16_t> terminators;
    block.find_all(kernels_, block.layout.docid_unary_bit, block.unary.docid, n, terminators);
    kernels_.add_summed_quotients(terminators.data(), widths_.docid, n, out);
    // No quotient exceeds the bits of the unary part.
    return (std::uint64_t{block.unary.docid} + 1) << widths_.docid <= small_gap_limit;
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

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<RiceEncoder>(options);
}

std::unique_ptr<ListDecoder> make_decoder(WordView list) {
  if (list.empty() || !Widths::is_valid(list[0])) throw_corrupt("list has no valid header");
  return std::make_unique<RiceDecoder>(Widths::from_word(list[0]));
}

}  // namespace quern::rice
