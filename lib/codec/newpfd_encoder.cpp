#include <algorithm>
#include <array>
#include <bit>

#include "quern/codec/byte_lanes.hpp"
#include "quern/codec/codec.hpp"
#include "quern/codec/codecs.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/codec/simple16.hpp"

namespace quern::newpfd {
namespace {

/// The widths of a stream with the smallest estimates, for which exact sizes are computed.
constexpr unsigned max_candidates = 2;

/// One way to code the values of a stream.
struct Candidate {
  unsigned width = 0;
  unsigned exceptions = 0;
  unsigned words = 0;  ///< of the exceptions
  /// What Simple16 codes: gaps between the exceptions' positions, then their high parts less one.
  std::array<std::uint32_t, 2 * max_exceptions> values;
  std::array<std::uint8_t, 2 * max_exceptions> ways;  ///< of Simple16's words

  std::uint64_t bits(unsigned n) const { return std::uint64_t{n} * width + 32 * std::uint64_t{words}; }
};

/// Bit widths of a stream's values, and how many there are above each width.
struct Widths {
  alignas(32) std::array<std::uint8_t, max_block_size + 32> of;
  std::array<std::uint32_t, 32> counts;  ///< of values of 1 to 32 bits
  std::array<unsigned, 34> above;
  unsigned greatest = 0;

  void measure(std::span<const std::uint32_t> values) {
    // Four counters a width, taken in turn: runs of equal widths would wait for one.
    std::array<std::array<std::uint16_t, 33>, 4> turns{};
    const auto count_width = [&](std::size_t i, unsigned turn) {
      const auto width = static_cast<std::uint8_t>(std::bit_width(values[i]));
      of[i] = width;
      ++turns[turn][width];
    };
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4)
      for (unsigned turn = 0; turn < 4; ++turn) count_width(i + turn, turn);
    for (; i < values.size(); ++i) count_width(i, 0);
    std::fill_n(of.data() + values.size(), 32, std::uint8_t{0});
    above[33] = above[32] = 0;
    greatest = 0;
    for (unsigned width = 32; width > 0; --width) {
      const unsigned count = unsigned{turns[0][width]} + turns[1][width] + turns[2][width] + turns[3][width];
      counts[width - 1] = count;
      if (count != 0 && greatest == 0) greatest = width;
      above[width - 1] = above[width] + count;
    }
  }
};

/// Sixteenths of log2(x), linear between powers of two.
unsigned log2_sixteenths(unsigned x) {
  const unsigned whole = static_cast<unsigned>(std::bit_width(x)) - 1;
  return 16 * whole + (x * 16 >> whole) - 16;
}

/// Sixteenths of a bit that Simple16 takes for a high part, by how many bits the value has above the slot's: a word
/// over the high parts that it holds, and a quarter more, since the widest of some neighbours rules.
constexpr auto make_high_part_costs() {
  constexpr std::array<std::uint8_t, 16> in_a_word = {28, 28, 14, 9, 7, 5, 5, 4, 3, 3, 2, 2, 2, 2, 2, 1};
  std::array<std::uint32_t, 64> costs{};
  for (unsigned bits = 1; bits <= 32; ++bits) costs[31 + bits] = 16 * 32 * 5 / 4 / in_a_word[std::min(bits, 15u)];
  return costs;
}

/// From index 31 on, so that the values too small to be exceptions have an index, too.
constexpr auto high_part_costs = make_high_part_costs();

/// About how many bits the stream takes. A position takes 2.5 bits and 3/4 of the logarithm of the mean distance.
/// This was fitted to blocks near their best width, of real lists and of random ones: the better of two estimates
/// comes within 0.3 % of the smallest size there.
std::uint64_t estimated_bits(unsigned n, unsigned width, const Widths& widths) {
  const std::uint64_t slots = std::uint64_t{n} * width;
  const unsigned exceptions = widths.above[width];
  if (exceptions == 0) return slots;
  std::uint32_t high_parts = 0;
  for (unsigned i = 0; i < 32; ++i) high_parts += widths.counts[i] * high_part_costs[32 + i - width];
  const std::uint32_t positions = exceptions * (40 + (log2_sixteenths(16 * n / exceptions) - 64) * 3 / 4);
  return slots + (high_parts + positions) / 16 + 16;
}

/// Fills in the exceptions of candidate.width and counts their words.
void collect_exceptions(std::span<const std::uint32_t> values, const Widths& widths, Candidate& candidate) {
  const unsigned width = candidate.width, count = widths.above[width];
  candidate.exceptions = count;
  candidate.words = 0;
  if (count == 0) return;
  unsigned found = 0, next = 0;
  for (unsigned first = 0; found < count; first += 32) {
    std::uint32_t wide = lanes_above(widths.of.data() + first, static_cast<std::uint8_t>(width));
    for (; wide != 0; wide &= wide - 1, ++found) {
      const unsigned position = first + static_cast<unsigned>(std::countr_zero(wide));
      candidate.values[found] = position - next;
      candidate.values[count + found] = (values[position] >> width) - 1;
      next = position + 1;
    }
  }
  std::array<std::uint8_t, 2 * max_exceptions + simple16_slack> value_widths;
  for (unsigned i = 0; i < 2 * count; ++i)
    value_widths[i] = static_cast<std::uint8_t>(std::bit_width(candidate.values[i]));
  std::fill_n(value_widths.data() + 2 * count, simple16_slack, std::uint8_t{0});
  candidate.words = simple16_plan(value_widths.data(), 2 * count, candidate.ways.data());
}

/// The candidates of one stream of a block.
class Stream {
 public:
  void consider(std::span<const std::uint32_t> values) {
    values_ = values;
    widths_.measure(values);
    choose_widths();
    for (unsigned i = 0; i < size_; ++i) collect_exceptions(values_, widths_, candidates_[i]);
  }

  std::span<const Candidate> candidates() const { return {candidates_.data(), size_}; }
  std::span<const std::uint32_t> values() const { return values_; }

 private:
  void choose_widths() {
    const unsigned n = static_cast<unsigned>(values_.size());
    std::array<std::uint64_t, max_candidates> estimates;
    size_ = 0;
    for (unsigned width = widths_.greatest + 1; width-- > 0;) {
      const unsigned exceptions = widths_.above[width];
      if (exceptions > max_exceptions || widths_.greatest > width + simple16_max_width) break;
      const unsigned named_width = width == 31 ? 32 : width;
      if (width == 31 && exceptions != 0) continue;
      const std::uint64_t estimate = estimated_bits(n, named_width, widths_);
      unsigned place = size_;
      while (place > 0 && estimate < estimates[place - 1]) --place;
      if (place == max_candidates) continue;
      if (size_ < max_candidates) ++size_;
      for (unsigned i = size_ - 1; i > place; --i) {
        estimates[i] = estimates[i - 1];
        candidates_[i].width = candidates_[i - 1].width;
      }
      estimates[place] = estimate;
      candidates_[place].width = named_width;
    }
  }

  std::span<const std::uint32_t> values_;
  Widths widths_;
  std::array<Candidate, max_candidates> candidates_;
  unsigned size_ = 0;
};

class NewPfdEncoder final : public ListEncoder {
 public:
  explicit NewPfdEncoder(const CodecOptions& options) : order_(options.block_size) {}

  void start_list() override {
    order_.restart();
    bits_ = {};
  }
  bool needs_statistics() const override { return false; }
  void observe(std::span<const std::uint32_t>, std::span<const std::uint32_t>) override {}
  void put_header(Words&) override {}

  void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) override {
    order_.accept(gaps, freqs);
    docids_.consider(gaps);
    freqs_.consider(freqs);
    choose_pair();
    write(out);
  }

  CodedBits bits() const override { return bits_; }

 private:
  /// The pair that takes the fewest words: both streams' slots share their last word, so in short blocks the best of
  /// each alone need not be the best together.
  void choose_pair() {
    const auto n = static_cast<unsigned>(docids_.values().size());
    std::uint64_t best = ~std::uint64_t{0};
    for (const Candidate& docid : docids_.candidates())
      for (const Candidate& freq : freqs_.candidates()) {
        const std::uint64_t words =
            words_of_bits(std::uint64_t{n} * (docid.width + freq.width)) + docid.words + freq.words;
        if (words >= best) continue;
        best = words;
        docid_ = &docid;
        freq_ = &freq;
      }
  }

  void write(Words& out) {
    const auto n = static_cast<unsigned>(docids_.values().size());
    Header header;
    header.docid_width = docid_->width;
    header.docid_exceptions = docid_->exceptions;
    header.docid_exception_words = docid_->words;
    header.freq_width = freq_->width;
    header.freq_exceptions = freq_->exceptions;

    const std::size_t start = out.size();
    const std::uint64_t slots_end = header.docid_exceptions_word(n);
    const std::uint64_t size = header.freq_exceptions_word(n) + freq_->words;
    out.resize(start + size + pack_slack_words);
    std::uint32_t* const block = out.data() + start;
    block[0] = header.word();
    pack(docids_.values().data(), n, header.docid_width, block, Header::docid_slots_bit());
    pack(freqs_.values().data(), n, header.freq_width, block, header.freq_slots_bit(n));
    write_exceptions(*docid_, block + slots_end);
    write_exceptions(*freq_, block + header.freq_exceptions_word(n));
    out.resize(start + size);

    const std::uint64_t padding = 32 * slots_end - header.slots_end_bit(n);
    bits_.docid_bits += Header::docid_bits + docid_->bits(n) + padding;
    bits_.freq_bits += Header::freq_bits + freq_->bits(n);
  }

  static void write_exceptions(const Candidate& candidate, std::uint32_t* to) {
    simple16_encode(candidate.values.data(), 2 * candidate.exceptions, candidate.ways.data(), to);
  }

  BlockOrder order_;
  Stream docids_, freqs_;
  const Candidate* docid_ = nullptr;
  const Candidate* freq_ = nullptr;
  CodedBits bits_;
};

}  // namespace

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<NewPfdEncoder>(options);
}

}  // namespace quern::newpfd
