#include <algorithm>
#include <array>
#include <limits>

#include "quern/codec/codec.hpp"
#include "quern/codec/rice_layout.hpp"

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

}  // namespace

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<RiceEncoder>(options);
}

}  // namespace quern::rice
