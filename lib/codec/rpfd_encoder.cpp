#include "quern/codec/codec.hpp"
#include "quern/codec/rpfd_layout.hpp"

namespace quern::rpfd {
namespace {

/// One stream of a block, split into slots and exceptions at every depth.
class SplitStream {
 public:
  /// Also sets the counts of `stream`.
  void split(const Shape& shape, const Widths& widths, std::span<const std::uint32_t> values, Stream& stream) {
    arrays_[0] = values;
    for (unsigned i = 0; i < shape.size; ++i) {
      const Shape::Array& array = shape.arrays[i];
      collect_exceptions(arrays_[i], widths[i], highs_[i], gaps_[i]);
      stream.values[i] = static_cast<std::uint16_t>(arrays_[i].size());
      stream.exceptions[i] = static_cast<std::uint16_t>(highs_[i].size());
      if (array.highs == 0) continue;
      arrays_[array.highs] = highs_[i];
      arrays_[array.positions] = gaps_[i];
    }
  }

  void pack_slots(const Stream& stream, const Widths& widths, unsigned first, unsigned end,
                  std::uint32_t* block) const {
    for (unsigned i = first; i < end; ++i)
      pack(arrays_[i].data(), stream.values[i], widths[i], block, stream.slots_bit[i]);
  }

  void copy_raw_words(const Shape& shape, const Stream& stream, std::uint32_t* block) const {
    for (unsigned i = 0; i < shape.size; ++i) {
      if (shape.arrays[i].highs != 0) continue;
      std::uint32_t* const to = std::copy(highs_[i].begin(), highs_[i].end(), block + stream.raw_word[i]);
      std::copy(gaps_[i].begin(), gaps_[i].end(), to);
    }
  }

 private:
  static void collect_exceptions(std::span<const std::uint32_t> values, unsigned width,
                                 std::vector<std::uint32_t>& highs, std::vector<std::uint32_t>& gaps) {
    highs.clear();
    gaps.clear();
    const std::uint32_t max_slot = low_mask(width);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      if (values[i] <= max_slot) continue;
      highs.push_back((values[i] >> width) - 1);
      gaps.push_back(i - next);
      next = i + 1;
    }
  }

  std::array<std::span<const std::uint32_t>, max_arrays> arrays_;
  std::array<std::vector<std::uint32_t>, max_arrays> highs_, gaps_;
};

class RpfdEncoder final : public ListEncoder {
 public:
  explicit RpfdEncoder(const CodecOptions& options)
      : recursion_(options.recursion),
        shape_(shapes[options.recursion]),
        observed_(options.block_size),
        coded_(options.block_size),
        docid_statistics_(options.recursion),
        freq_statistics_(options.recursion) {}

  void start_list() override {
    observed_.restart();
    coded_.restart();
    docid_statistics_.clear();
    freq_statistics_.clear();
    bits_ = {};
  }

  bool needs_statistics() const override { return true; }
  void observe(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs) override {
    observed_.accept(gaps, freqs);
    docid_statistics_.add(gaps);
    freq_statistics_.add(freqs);
  }

  void put_header(Words& out) override {
    docid_widths_ = docid_statistics_.choose();
    freq_widths_ = freq_statistics_.choose();
    const std::size_t start = out.size(), size = list_header_words(recursion_);
    out.resize(start + size + pack_slack_words);
    BitAppender to(out.data() + start, 0);
    for (const Widths* widths : {&docid_widths_, &freq_widths_})
      for (unsigned i = 0; i < shape_.size; ++i) to.append(code_of_width((*widths)[i]), code_bits);
    out.resize(start + size);
    bits_.freq_bits = code_bits * shape_.size;
    bits_.docid_bits = 32 * size - bits_.freq_bits;
  }

  void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) override {
    coded_.accept(gaps, freqs);
    docids_.split(shape_, docid_widths_, gaps, layout_.docids);
    freqs_.split(shape_, freq_widths_, freqs, layout_.freqs);
    const std::uint64_t freq_count_bits = layout_.freqs.bits_of_counts(shape_, freq_widths_);
    const std::uint64_t count_bits = layout_.docids.bits_of_counts(shape_, docid_widths_) + freq_count_bits;
    layout_.place(shape_, docid_widths_, freq_widths_, static_cast<std::uint32_t>(count_bits));

    const std::size_t start = out.size();
    out.resize(start + layout_.words + pack_slack_words);
    write(out.data() + start);
    out.resize(start + layout_.words);

    const std::uint64_t freq_bits =
        freq_count_bits + layout_.freqs.bits_of_slots(shape_, freq_widths_) + 32 * layout_.freqs.raw_words(shape_);
    bits_.freq_bits += freq_bits;
    bits_.docid_bits += 32 * std::uint64_t{layout_.words} - freq_bits;
  }

  CodedBits bits() const override { return bits_; }

 private:
  /// Writes in ascending order, since packing may clear the following bits.
  void write(std::uint32_t* block) const {
    BitAppender to(block, 0);
    write_counts(layout_.docids, docid_widths_, to);
    write_counts(layout_.freqs, freq_widths_, to);
    docids_.pack_slots(layout_.docids, docid_widths_, 0, 1, block);
    freqs_.pack_slots(layout_.freqs, freq_widths_, 0, 1, block);
    docids_.pack_slots(layout_.docids, docid_widths_, 1, shape_.size, block);
    freqs_.pack_slots(layout_.freqs, freq_widths_, 1, shape_.size, block);
    docids_.copy_raw_words(shape_, layout_.docids, block);
    freqs_.copy_raw_words(shape_, layout_.freqs, block);
  }

  void write_counts(const Stream& stream, const Widths& widths, BitAppender& to) const {
    for (unsigned i = 0; i < shape_.size; ++i) to.append(stream.exceptions[i], count_bits(stream.values[i], widths[i]));
  }

  unsigned recursion_;
  const Shape& shape_;
  BlockOrder observed_, coded_;
  WidthStatistics docid_statistics_, freq_statistics_;
  Widths docid_widths_{}, freq_widths_{};
  SplitStream docids_, freqs_;
  Layout layout_;
  CodedBits bits_;
};

}  // namespace

std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options) {
  check_codec_options(options);
  return std::make_unique<RpfdEncoder>(options);
}

}  // namespace quern::rpfd
