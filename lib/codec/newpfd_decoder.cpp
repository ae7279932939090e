#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/core/error.hpp"

namespace quern::newpfd {
namespace {

[[noreturn]] void throw_cut() { throw CorruptBlock("a NewPFD block ends too early"); }

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
  explicit Parts(const Block& block) : words_(block.words.data()) {
    if (!block.header.docids.are_allowed() || !block.header.freqs.are_allowed())
      throw CorruptBlock("a NewPFD block has invalid widths");
    const auto count = [&](const HighPlaces& places, unsigned array, std::uint32_t bit, std::uint32_t n) {
      if (array == 0 && is_in_place(n)) return count_ones(bytes_from(bit), n);
      return masks_of(places)[array].copy(words_, bit, n);
    };
    if (!block.header.find(block.n, block.words.size(), places_, count)) throw_cut();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// The results refer to memory of the block and of this object.
  HighParts docids(const Header& header) const { return parts(header.docids, places_.docids, docid_masks_); }
  HighParts freqs(const Header& header) const { return parts(header.freqs, places_.freqs, freq_masks_); }
  std::size_t words() const { return words_of_bits(places_.end); }

 private:
  static_assert(HighParts::max_arrays == HighPlaces::arrays);
  using Masks = std::array<CopiedMask, HighParts::max_arrays>;

  /// Whether the mask of n values can be used in place: it begins and ends at a word boundary, as in all blocks but a
  /// list's last.
  static bool is_in_place(std::uint32_t n) { return n >= 64 && n % 32 == 0; }
  const std::uint8_t* bytes_from(std::uint32_t bit) const {
    return reinterpret_cast<const std::uint8_t*>(words_) + bit / 8;
  }
  Masks& masks_of(const HighPlaces& places) { return &places == &places_.docids ? docid_masks_ : freq_masks_; }
  HighParts parts(const Arrays& stream, const HighPlaces& places, const Masks& masks) const {
    HighParts parts;
    for (unsigned index = 0; index < HighParts::max_arrays; ++index) {
      const bool in_place = index == 0 && is_in_place(places.above[0]);
      parts.arrays[index] = {in_place ? bytes_from(places.mask_bits[0]) : masks[index].bytes(), places.above[index],
                             places.sizes[index], stream.widths[index + 1], places.slot_bits[index]};
    }
    return parts;
  }

  const std::uint32_t* words_;
  BlockPlaces places_;
  Masks docid_masks_, freq_masks_;
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

class NewPfdDecoder final : public ListDecoder {
 public:
  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Arrays& docids = block.header.docids;
    if (docids.count == 1)
      return kernels_.unpack_docids(words.data(), block.header.docid_slots_bit(n), docids.widths[0], n, before, out);
    decode_patched_docids(block, before, out);
  }

  std::size_t block_words(WordView words, unsigned n) const override { return Parts(Block(words, n)).words(); }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n);
    const Arrays& freqs = block.header.freqs;
    if (freqs.count == 1)
      return kernels_.unpack_freqs(words.data(), block.header.freq_slots_bit(n), freqs.widths[0], n, out);
    decode_patched_freqs(block, out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n);
    const Arrays& freqs = block.header.freqs;
    const std::uint32_t slot_bit = block.header.freq_slots_bit(n) + i * freqs.widths[0];
    const freq_t freq = unpack_one(words.data(), slot_bit, freqs.widths[0]) + 1;
    if (freqs.count == 1) return freq;
    return freq + (high_part_at(words.data(), Parts(block).freqs(block.header), i) << freqs.widths[0]);
  }

 private:
  // Not inlined, so that blocks without exceptions don't reserve this function's stack.
  [[gnu::noinline]] void decode_patched_docids(const Block& block, docid_t before, docid_t* out) const {
    const Parts parts(block);
    kernels_.unpack_docids_with_highs(block.words.data(), block.header.docid_slots_bit(block.n),
                                      block.header.docids.widths[0], block.n, before, parts.docids(block.header), out);
  }
  [[gnu::noinline]] void decode_patched_freqs(const Block& block, freq_t* out) const {
    const Parts parts(block);
    kernels_.unpack_freqs_with_highs(block.words.data(), block.header.freq_slots_bit(block.n),
                                     block.header.freqs.widths[0], block.n, parts.freqs(block.header), out);
  }

  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<NewPfdDecoder>(); }

}  // namespace quern::newpfd
