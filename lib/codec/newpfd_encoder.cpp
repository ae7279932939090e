#include <algorithm>
#include <array>
#include <bit>

#include "quern/codec/codec.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/codec/newpfd_widths.hpp"

namespace quern::newpfd {
namespace {

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

}  // namespace

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<NewPfdEncoder>(options);
}

}  // namespace quern::newpfd
