#include "quern/codec/newpfd.hpp"

namespace quern::simple16 {
namespace {

/// For each way and value, the greatest width that fits. Values past a way's count fit with any.
constexpr auto make_max_widths() {
  std::array<std::array<std::uint8_t, plan_slack>, 16> widths{};
  for (std::uint32_t number = 0; number < 16; ++number) {
    const Way way = way_of(number << 28);
    for (unsigned i = 0; i < plan_slack; ++i)
      widths[number][i] = i < way.count ? static_cast<std::uint8_t>(way.width_of(i)) : 255;
  }
  return widths;
}

constexpr auto max_widths = make_max_widths();

/// The first way whose values all fit. The last way takes what no other does.
std::uint8_t fitting_way(const std::uint8_t* widths) {
  for (std::uint8_t way = 0; way < 15; ++way) {
    unsigned over = 0;
    for (unsigned i = 0; i < plan_slack; ++i) over |= widths[i] > max_widths[way][i] ? 1u : 0u;
    if (over == 0) return way;
  }
  return 15;
}

}  // namespace

unsigned plan(const std::uint8_t* widths, unsigned count, std::uint8_t* ways) {
  unsigned words = 0;
  for (unsigned i = 0; i < count; ++words) {
    ways[words] = fitting_way(widths + i);
    i += way_of(std::uint32_t{ways[words]} << 28).count;
  }
  return words;
}

void encode(const std::uint32_t* values, unsigned count, const std::uint8_t* ways, std::uint32_t* to) {
  for (unsigned i = 0; i < count;) {
    std::uint32_t word = std::uint32_t{*ways++} << 28;
    const Way way = way_of(word);
    const unsigned taken = std::min<unsigned>(count - i, way.count);
    for (unsigned j = 0; j < taken; ++j) word |= values[i + j] << way.bit_of(j);
    *to++ = word;
    i += taken;
  }
}

}  // namespace quern::simple16

namespace quern::newpfd {
namespace {

/// The numbers of a stream's values by bit width, and above each width.
struct Widths {
  std::array<std::uint32_t, 33> counts{};
  std::array<unsigned, 34> above{};
  unsigned greatest = 0;

  explicit Widths(std::span<const std::uint32_t> values) {
    for (const std::uint32_t value : values) ++counts[static_cast<unsigned>(std::bit_width(value))];
    for (unsigned width = 32; width > 0; --width) {
      if (counts[width] != 0 && greatest == 0) greatest = width;
      above[width - 1] = above[width] + counts[width];
    }
  }
};

/// Sixteenths of log2(x), linear between powers of two.
unsigned log2_sixteenths(unsigned x) {
  const unsigned whole = static_cast<unsigned>(std::bit_width(x)) - 1;
  return 16 * whole + (x * 16 >> whole) - 16;
}

/// Sixteenths of a bit that Simple16 takes for a high part of this many bits: a word divided by the high parts that it
/// holds, and a quarter more, since the widest of some neighbours decides.
constexpr auto make_high_part_costs() {
  constexpr std::array<std::uint8_t, 16> in_a_word = {28, 28, 14, 9, 7, 5, 5, 4, 3, 3, 2, 2, 2, 2, 2, 1};
  std::array<std::uint32_t, 33> costs{};
  for (unsigned bits = 1; bits <= 32; ++bits) costs[bits] = 16 * 32 * 5 / 4 / in_a_word[std::min(bits, 15u)];
  return costs;
}

constexpr auto high_part_costs = make_high_part_costs();

/// The estimated bits of a stream, with the cost of its exceptions. A position takes 2.5 bits and 3/4 of the logarithm
/// of the mean distance: fitted to blocks near their best width, of real lists and of random ones.
std::uint64_t estimated_bits(unsigned n, unsigned width, const Widths& widths) {
  const std::uint64_t slots = std::uint64_t{n} * width;
  const unsigned exceptions = widths.above[width];
  if (exceptions == 0) return slots;
  std::uint32_t high_parts = 0;
  for (unsigned bits = width + 1; bits <= widths.greatest; ++bits)
    high_parts += widths.counts[bits] * high_part_costs[bits - width];
  const unsigned position = 40 + (log2_sixteenths(16 * n / exceptions) - 64) * 3 / 4;
  return slots + (high_parts + exceptions * (position + 16 * exception_cost)) / 16 + 16;
}

/// One stream of a block.
class Stream {
 public:
  void take(std::span<const std::uint32_t> values) {
    values_ = values;
    choose_width(Widths(values));
    collect_exceptions();
  }

  unsigned width() const { return width_; }
  unsigned exceptions() const { return exceptions_; }
  /// Words of the exceptions.
  unsigned words() const { return words_; }

  void write_slots(std::uint32_t* block, std::uint64_t bit) const {
    pack(values_.data(), static_cast<unsigned>(values_.size()), width_, block, bit);
  }
  void write_exceptions(std::uint32_t* to) const { simple16::encode(coded_.data(), 2 * exceptions_, ways_.data(), to); }

 private:
  /// Chooses the width with the lowest estimate.
  void choose_width(const Widths& widths) {
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned width = widths.greatest + 1; width-- > 0;) {
      const unsigned exceptions = widths.above[width];
      if (exceptions > max_exceptions || widths.greatest > width + simple16::max_width) break;
      if (width == 31 && exceptions != 0) continue;
      const unsigned coded_width = width == 31 ? 32 : width;
      const std::uint64_t estimate = estimated_bits(static_cast<unsigned>(values_.size()), coded_width, widths);
      if (estimate >= least) continue;
      least = estimate;
      width_ = coded_width;
    }
  }

  void collect_exceptions() {
    std::array<std::uint32_t, max_exceptions + 1> highs;  // one spare: each value is written, then tested
    unsigned count = 0, next = 0;
    if (width_ < 32)
      for (unsigned i = 0; i < values_.size(); ++i) {
        const std::uint32_t high = values_[i] >> width_;
        coded_[count] = i - next;
        highs[count] = high - 1;
        next = high != 0 ? i + 1 : next;
        count += high != 0 ? 1 : 0;
      }
    std::copy_n(highs.data(), count, coded_.data() + count);
    std::array<std::uint8_t, 2 * max_exceptions + simple16::plan_slack> widths{};
    for (unsigned i = 0; i < 2 * count; ++i) widths[i] = static_cast<std::uint8_t>(std::bit_width(coded_[i]));
    exceptions_ = count;
    words_ = simple16::plan(widths.data(), 2 * count, ways_.data());
  }

  std::span<const std::uint32_t> values_;
  unsigned width_ = 0, exceptions_ = 0, words_ = 0;
  /// The values of Simple16: gaps between the exceptions' positions, then their high parts minus one.
  std::array<std::uint32_t, 2 * max_exceptions> coded_;
  std::array<std::uint8_t, 2 * max_exceptions> ways_;  ///< of the words
};

class NewPfdEncoder final : public ListEncoder {
 public:
  explicit NewPfdEncoder(const CodecOptions& options) : order_(options.block_size) {}

  void start_list() override {
    order_.restart();
    bits_ = {};
  }

  void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) override {
    order_.accept(gaps, freqs);
    docids_.take(gaps);
    freqs_.take(freqs);
    write(static_cast<unsigned>(gaps.size()), out);
  }

  CodedBits bits() const override { return bits_; }

 private:
  void write(unsigned n, Words& out) {
    Header header;
    header.docid_width = docids_.width();
    header.docid_exceptions = docids_.exceptions();
    header.docid_exception_words = docids_.words();
    header.freq_width = freqs_.width();
    header.freq_exceptions = freqs_.exceptions();

    const std::size_t start = out.size(), size = header.freq_exceptions_word(n) + freqs_.words();
    out.resize(start + size + pack_slack_words);
    std::uint32_t* const block = out.data() + start;
    block[0] = header.word();
    docids_.write_slots(block, Header::docid_slots_bit());
    freqs_.write_slots(block, header.freq_slots_bit(n));
    docids_.write_exceptions(block + header.docid_exceptions_word(n));
    freqs_.write_exceptions(block + header.freq_exceptions_word(n));
    out.resize(start + size);

    const std::uint64_t freq_bits = Header::freq_bits + n * freqs_.width() + 32 * freqs_.words();
    bits_.freq_bits += freq_bits;
    bits_.docid_bits += 32 * std::uint64_t{size} - freq_bits;
  }

  BlockOrder order_;
  Stream docids_, freqs_;
  CodedBits bits_;
};

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a NewPFD block ") + what); }
[[noreturn]] void throw_cut() { throw_corrupt("ends too early"); }

/// A block whose header was read and whose slots are known to lie within it.
struct Block {
  WordView words;
  unsigned n;
  Header header;

  Block(WordView words_, unsigned n_) : words(words_), n(n_), header(words_.empty() ? 0 : words_[0]) {
    if (words.empty() || header.freq_exceptions_word(n) > words.size()) throw_cut();
  }

  WordView docid_exceptions() const {
    return words.subspan(header.docid_exceptions_word(n), header.docid_exception_words);
  }
  WordView freq_exceptions() const { return words.subspan(header.freq_exceptions_word(n)); }
};

/// A stream of exceptions: gaps between their positions, then their high parts minus one.
template <class Value>
using Exceptions = ExceptionValues<Value, 2 * max_exceptions + simple16::decode_slack>;

/// Calls use() with the stream of `count` exceptions in these words, if it has values that aren't narrow; such streams
/// are rare.
template <class Use>
[[gnu::noinline]] auto with_wide_exceptions(WordView from, unsigned count, Use use) {
  Exceptions<std::uint32_t> exceptions;
  simple16::Reader reader(from.data(), from.data() + from.size());
  for (unsigned i = 0; i < 2 * count; ++i)
    if (!reader(exceptions.data()[i])) throw_cut();
  return use(std::as_const(exceptions).data());
}

/// Calls use() with the stream of `count` exceptions at the front of these words, at least one.
template <class Use>
[[gnu::always_inline]] inline auto with_exceptions(const Kernels& kernels, WordView from, unsigned count, Use use) {
  Exceptions<std::uint16_t> exceptions;
  const Simple16Values values = kernels.simple16(from.data(), from.size(), 2 * count, exceptions.data());
  if (values == Simple16Values::cut) throw_cut();
  if (values == Simple16Values::wide) return with_wide_exceptions(from, count, use);
  return use(std::as_const(exceptions).data());
}

/// Calls unpack() with the high parts of these exceptions at the positions of their values.
template <class Unpack>
[[gnu::always_inline]] inline void with_highs(const Kernels& kernels, WordView from, unsigned count, unsigned n,
                                              Unpack unpack) {
  with_exceptions(kernels, from, count, [&]<class Value>(const Value* exceptions) {
    PlacedHighs<Value> placed;
    if (!placed.place(exceptions, exceptions + count, count, n)) throw_corrupt("has an exception past its last value");
    unpack(std::as_const(placed).data());
  });
}

class NewPfdDecoder final : public ListDecoder {
 public:
  bool decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.docid_exceptions != 0) {
      decode_patched_docids(block, before, out);
      return false;
    }
    kernels_.unpack_docids(words.data(), Header::docid_slots_bit(), header.docid_width, n, before, out);
    return std::uint64_t{1} << header.docid_width <= small_gap_limit;
  }

  std::size_t block_words(WordView words, unsigned n) const override {
    const Block block(words, n);
    const WordView from = block.freq_exceptions();
    simple16::Reader exceptions(from.data(), from.data() + from.size());
    if (!exceptions.skip(2 * block.header.freq_exceptions)) throw_cut();
    return static_cast<std::size_t>(exceptions.next_word() - words.data());
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.freq_exceptions == 0)
      return kernels_.unpack_freqs(words.data(), header.freq_slots_bit(n), header.freq_width, n, out);
    decode_patched_freqs(block, out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned wanted) const override {
    const Block block(words, n);
    const unsigned width = block.header.freq_width, count = block.header.freq_exceptions;
    const freq_t freq = unpack_one(words.data(), block.header.freq_slots_bit(n) + wanted * width, width) + 1;
    if (count == 0) return freq;
    return with_exceptions(kernels_, block.freq_exceptions(), count, [&](const auto* exceptions) {
      std::uint64_t position = 0;
      for (unsigned i = 0; i < count && position <= wanted; ++i, ++position) {
        position += exceptions[i];
        if (position == wanted) return freq + patch_of(exceptions[count + i], width);
      }
      return freq;
    });
  }

 private:
  // Not inlined, so that blocks without exceptions don't reserve these functions' stack.
  [[gnu::noinline]] void decode_patched_docids(const Block& block, docid_t before, docid_t* out) const {
    const Header& header = block.header;
    with_highs(kernels_, block.docid_exceptions(), header.docid_exceptions, block.n, [&](const auto* highs) {
      const auto unpack = unpack_docids_patched(kernels_, highs);
      unpack(block.words.data(), Header::docid_slots_bit(), header.docid_width, block.n, before, highs, out);
    });
  }
  [[gnu::noinline]] void decode_patched_freqs(const Block& block, freq_t* out) const {
    const Header& header = block.header;
    with_highs(kernels_, block.freq_exceptions(), header.freq_exceptions, block.n, [&](const auto* highs) {
      const auto unpack = unpack_freqs_patched(kernels_, highs);
      unpack(block.words.data(), header.freq_slots_bit(block.n), header.freq_width, block.n, highs, out);
    });
  }

  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<NewPfdEncoder>(options);
}

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<NewPfdDecoder>(); }

}  // namespace quern::newpfd
