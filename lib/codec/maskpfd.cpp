#include "quern/codec/maskpfd.hpp"

#include <bit>
#include <iterator>

#include "quern/codec/kernels.hpp"

namespace quern::maskpfd {
namespace {

/// Values counted per step.
constexpr std::size_t step = 8;

/// The high parts minus one of an array's exceptions, and their mask.
class HighArray {
 public:
  /// Collects the exceptions of `values` in slots of `width` bits.
  void collect(std::span<const std::uint32_t> values, unsigned width) {
    above_ = values.size();
    std::uint32_t* to = values_.data();
    for (std::size_t first = 0; first < above_; first += 32) {
      const std::size_t count = std::min<std::size_t>(32, above_ - first);
      std::uint32_t mask = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t high = values[first + i] >> width, has = high != 0 ? 1 : 0;
        *to = high - 1;
        to += has;
        mask |= has << i;
      }
      mask_[first / 32] = mask;
    }
    size_ = static_cast<std::size_t>(to - values_.data());
  }

  std::span<const std::uint32_t> values() const { return {values_.data(), size_}; }

  /// Writes the mask; returns the bit after it.
  std::uint64_t write_mask(std::uint32_t* block, std::uint64_t bit) const {
    BitAppender to(block, bit);
    for (std::size_t first = 0; first < above_; first += 32)
      to.append(mask_[first / 32], static_cast<unsigned>(std::min<std::size_t>(32, above_ - first)));
    return bit + above_;
  }
  /// Writes the slots; returns the bit after them.
  std::uint64_t write_slots(unsigned width, std::uint32_t* block, std::uint64_t bit) const {
    pack(values_.data(), static_cast<unsigned>(size_), width, block, bit);
    return bit + size_ * width;
  }

 private:
  std::size_t above_ = 0, size_ = 0;
  std::array<std::uint32_t, max_block_size / 32> mask_;
  std::array<std::uint32_t, max_block_size + 1> values_;  // one spare: collect() writes each value, then tests it
};

/// One stream of a block.
class Stream {
 public:
  void take(std::span<const std::uint32_t> values) {
    values_ = values;
    arrays_ = search_.find(values, arrays_);
    for (unsigned array = 1; array < arrays_.count; ++array) {
      const auto above = array == 1 ? values_ : highs_[array - 2].values();
      highs_[array - 1].collect(above, arrays_.widths[array - 1]);
    }
  }

  const Arrays& arrays() const { return arrays_; }
  std::uint64_t bits() const { return search_.bits(); }

  /// Writes the slots of the values; returns the bit after them.
  std::uint64_t write_slots(std::uint32_t* block, std::uint64_t bit) const {
    pack(values_.data(), static_cast<unsigned>(values_.size()), arrays_.widths[0], block, bit);
    return bit + values_.size() * arrays_.widths[0];
  }
  /// Writes the mask of array `array`, if it exists; returns the bit after it.
  std::uint64_t write_mask(unsigned array, std::uint32_t* block, std::uint64_t bit) const {
    return array < arrays_.count ? highs_[array - 1].write_mask(block, bit) : bit;
  }
  /// Writes the slots of all arrays after the first; returns the bit after them.
  std::uint64_t write_highs(std::uint32_t* block, std::uint64_t bit) const {
    for (unsigned array = 1; array < arrays_.count; ++array)
      bit = highs_[array - 1].write_slots(arrays_.widths[array], block, bit);
    return bit;
  }

 private:
  std::span<const std::uint32_t> values_;
  WidthSearch search_;
  Arrays arrays_;
  std::array<HighArray, max_arrays - 1> highs_;
};

class MaskPfdEncoder final : public ListEncoder {
 public:
  explicit MaskPfdEncoder(const CodecOptions& options) : order_(options.block_size) {}

  void start_list() override {
    order_.restart();
    bits_ = {};
  }

  void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) override {
    order_.accept(gaps, freqs);
    docids_.take(gaps);
    freqs_.take(freqs);
    write(out);
  }

  CodedBits bits() const override { return bits_; }

 private:
  /// Writes the masks of both streams.
  std::uint64_t write_masks(unsigned array, std::uint32_t* block, std::uint64_t bit) const {
    return freqs_.write_mask(array, block, docids_.write_mask(array, block, bit));
  }
  void write(Words& out) {
    Header header;
    header.docids = docids_.arrays();
    header.freqs = freqs_.arrays();
    const std::uint64_t used = Header::bits + docids_.bits() + freqs_.bits();
    const std::size_t start = out.size(), size = words_of_bits(used);
    out.resize(start + size + pack_slack_words);
    std::uint32_t* const block = out.data() + start;
    block[0] = header.word();
    std::uint64_t bit = write_masks(1, block, Header::bits);
    bit = freqs_.write_slots(block, docids_.write_slots(block, bit));
    for (unsigned array = 2; array < max_arrays; ++array) bit = write_masks(array, block, bit);
    freqs_.write_highs(block, docids_.write_highs(block, bit));
    out.resize(start + size);
    bits_.docid_bits += Header::half_bits + docids_.bits() + (32 * size - used);
    bits_.freq_bits += Header::half_bits + freqs_.bits();
  }

  BlockOrder order_;
  Stream docids_, freqs_;
  CodedBits bits_;
};

[[noreturn]] void throw_cut() { throw CorruptBlock("a maskpfd block ends too early"); }

/// A block whose header was read and whose slots are known to lie within it.
struct Block {
  WordView words;
  unsigned n;
  Header header;

  Block(WordView words_, unsigned n_) : words(words_), n(n_), header(words_.empty() ? 0 : words_[0]) {
    if (words.empty() || header.slots_end_bit(n) > 32 * std::uint64_t{words.size()}) throw_cut();
  }
};

/// The arrays of a block's high parts.
class Parts {
 public:
  explicit Parts(const Block& block) {
    if (!block.header.docids.are_allowed() || !block.header.freqs.are_allowed())
      throw CorruptBlock("a maskpfd block has invalid widths");
    const std::uint32_t* const words = block.words.data();
    // Masks of the values that begin and end with a word, as in all blocks but a list's last, are used in place.
    const bool in_place = block.n >= 64 && block.n % 32 == 0;
    CopiedMask* copy = copies_.data();
    const auto put_mask = [&](HighParts::Array& array, unsigned i, const Arrays& stream, std::uint32_t bit) {
      array.width = stream.widths[i + 1];
      if (i == 0 && in_place) {
        array.mask = reinterpret_cast<const std::uint8_t*>(words) + bit / 8;
        return count_ones(array.mask, array.above);
      }
      array.mask = copy->bytes();
      return copy++->copy(words, bit, array.above);
    };
    if (!block.header.find(block.n, block.words.size(), docids_, freqs_, end_, put_mask)) throw_cut();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// They refer to memory of the block and of this object.
  const HighParts& docids() const { return docids_; }
  const HighParts& freqs() const { return freqs_; }
  std::size_t words() const { return words_of_bits(end_); }

 private:
  static_assert(HighParts::max_arrays == high_arrays);

  HighParts docids_, freqs_;
  std::uint32_t end_;  ///< in bits
  std::array<CopiedMask, 2 * high_arrays> copies_;
};

/// The high part of value i; 0 if it has none.
std::uint32_t high_part_at(const std::uint32_t* words, const HighParts& parts, unsigned i) {
  std::uint32_t high = 0;
  unsigned shift = 0;
  for (const HighParts::Array& array : parts.arrays) {
    if (i >= array.above || !array.has(i)) break;
    i = array.rank(i);
    high += (unpack_one(words, array.slots_bit + i * array.width, array.width) + 1) << shift;
    shift += array.width;
  }
  return high;
}

class MaskPfdDecoder final : public ListDecoder {
 public:
  bool decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block& block = open(words, n);
    const Arrays& docids = block.header.docids;
    const unsigned width = docids.widths[0];
    const std::uint32_t bit = block.header.docid_slots_bit(n);
    if (docids.count == 1)
      kernels_.unpack_docids(words.data(), bit, width, n, before, out);
    else
      kernels_.unpack_docids_with_highs(words.data(), bit, width, n, before, parts().docids(), out);
    return (docids.greatest_high() + 1) << width <= small_gap_limit;
  }

  std::size_t block_words(WordView words, unsigned n) const override {
    open(words, n);
    return parts().words();
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block& block = open(words, n);
    const unsigned width = block.header.freqs.widths[0];
    const std::uint32_t bit = block.header.freq_slots_bit(n);
    if (block.header.freqs.count == 1) return kernels_.unpack_freqs(words.data(), bit, width, n, out);
    kernels_.unpack_freqs_with_highs(words.data(), bit, width, n, parts().freqs(), out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block& block = open(words, n);
    const Arrays& freqs = block.header.freqs;
    const std::uint32_t slot_bit = block.header.freq_slots_bit(n) + i * freqs.widths[0];
    const freq_t freq = unpack_one(words.data(), slot_bit, freqs.widths[0]) + 1;
    if (freqs.count == 1) return freq;
    return freq + (high_part_at(words.data(), parts().freqs(), i) << freqs.widths[0]);
  }

 private:
  /// Reads a block's header, unless it was read last: docIDs and frequencies are mostly decoded in turn.
  const Block& open(WordView words, unsigned n) const {
    if (block_ && words.data() == block_->words.data() && words.size() == block_->words.size() && n == block_->n)
      return *block_;
    parts_.reset();
    return block_.emplace(words, n);
  }
  /// The high parts of the open block.
  const Parts& parts() const {
    if (!parts_) parts_.emplace(*block_);
    return *parts_;
  }

  const Kernels& kernels_ = kernels();
  mutable std::optional<Block> block_;
  mutable std::optional<Parts> parts_;
};

}  // namespace

void WidthSearch::begin(std::span<const std::uint32_t> values) {
  std::copy(values.begin(), values.end(), values_.begin());
  count_ = values.size();
  size_ = (values.size() + step - 1) / step * step;
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(values.size()),
            values_.begin() + static_cast<std::ptrdiff_t>(size_), 0);
  std::array<std::uint32_t, step> greatest{};
  for (std::size_t i = 0; i < size_; i += step)
    for (std::size_t j = 0; j < step; ++j) greatest[j] = std::max(greatest[j], values_[i + j]);
  greatest_ = *std::max_element(greatest.begin(), greatest.end());
  best_bits_ = ~std::uint64_t{0};
}

std::uint64_t WidthSearch::count_from(std::uint64_t threshold) const {
  if (threshold > greatest_) return 0;
  const auto least = static_cast<std::uint32_t>(threshold);
  std::array<std::uint32_t, step> counts{};
  for (std::size_t i = 0; i < size_; i += step)
    for (std::size_t j = 0; j < step; ++j) counts[j] += values_[i + j] >= least ? 1 : 0;
  std::uint64_t count = 0;
  for (const std::uint32_t part : counts) count += part;
  return count;
}

WidthSearch::Reached WidthSearch::exceptions(const Reached& reached, unsigned width) const {
  Reached above = reached;
  ++above.array;
  above.shift += width;
  above.threshold += std::uint64_t{1} << above.shift;
  above.values = count_from(above.threshold);
  above.bits += reached.values * (width + 1) + array_cost;  // slots and mask
  return above;
}

void WidthSearch::end(const Reached& reached, unsigned width) {
  // Slots of 31 bits don't exist.
  const unsigned named = reached.array == 0 && width == 31 ? 32 : width;
  const std::uint64_t bits = reached.bits + reached.values * named;
  if (named > max_width(reached.array) || bits >= best_bits_) return;
  Arrays arrays = tried_;
  arrays.count = reached.array + 1;
  arrays.widths[reached.array] = named;
  std::fill(arrays.widths + arrays.count, std::end(arrays.widths), 0);
  if (!arrays.are_allowed()) return;
  best_bits_ = bits;
  best_ = arrays;
}

void WidthSearch::search(const Reached& reached) {
  const auto whole = static_cast<unsigned>(std::bit_width(rest(reached)));
  end(reached, whole);
  if (reached.array + 1 == max_arrays) return;
  const unsigned greatest = std::min(max_width(reached.array), 30u);
  for (unsigned width = 0; width < whole && width <= greatest; ++width) {
    if (reached.bits + reached.values * (width + 1) + array_cost >= best_bits_) break;
    const Reached above = exceptions(reached, width);
    if (above.values > max_values(above.array, count_)) continue;
    if (above.bits + (rest(above) == 0 ? 0 : above.values) >= best_bits_) continue;
    tried_.widths[reached.array] = width;
    search(above);
  }
}

void WidthSearch::try_out(const Arrays& arrays) {
  Reached reached;
  reached.values = count_;
  for (unsigned array = 0;; ++array) {
    const auto whole = static_cast<unsigned>(std::bit_width(rest(reached)));
    if (array + 1 == arrays.count || whole <= arrays.widths[array]) return end(reached, whole);
    tried_.widths[array] = arrays.widths[array];
    reached = exceptions(reached, arrays.widths[array]);
    if (reached.values > max_values(reached.array, count_)) return;
  }
}

Arrays WidthSearch::find(std::span<const std::uint32_t> values, const Arrays& likely) {
  begin(values);
  // Tried first only as a bound: among arrays of the same size, the choice must not depend on other values.
  try_out(likely);
  if (best_bits_ != ~std::uint64_t{0}) ++best_bits_;
  Reached all;
  all.values = count_;
  search(all);
  return best_;
}

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<MaskPfdEncoder>(options);
}

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<MaskPfdDecoder>(); }

}  // namespace quern::maskpfd
