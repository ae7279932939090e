#include "quern/codec/old_newpfd.hpp"

#include <numeric>

namespace quern {

std::uint32_t Simple16Reader::next() {
  if (values_left_ == 0 && runs_left_ > 0 && run_[1].count > 0) {
    values_left_ = (++run_)->count;
    --runs_left_;
  } else if (values_left_ == 0) {
    if (words_ == from_.size()) throw CorruptBlock("a block's Simple16 words end too early");
    bits_ = from_[words_++];
    run_ = simple16::ways[bits_ >> 28].data();
    runs_left_ = static_cast<unsigned>(simple16::ways[0].size()) - 1;
    values_left_ = run_->count;
  }
  const std::uint32_t value = bits_ & low_mask(run_->width);
  bits_ >>= run_->width;
  --values_left_;
  return value;
}

}  // namespace quern

namespace quern::old_newpfd {
namespace {

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a NewPFD block ") + what); }

/// A block whose header was read and whose slots are known to lie within it.
struct Block {
  WordView words;
  unsigned n;
  Header header;

  Block(WordView words_, unsigned n_) : words(words_), n(n_), header(words_.empty() ? 0 : words_[0]) {
    if (words.empty() || header.freq_exceptions_word(n) > words.size()) throw_corrupt("ends too early");
  }

  WordView docid_exceptions() const {
    return words.subspan(header.docid_exceptions_word(n), header.docid_exception_words);
  }
  WordView freq_exceptions() const { return words.subspan(header.freq_exceptions_word(n)); }
};

/// Calls patch(position, addend) for the `count` exceptions of a stream, stored as the gaps between their positions
/// followed by their high parts minus one.
template <class Patch>
void for_each_exception(WordView from, unsigned count, unsigned n, unsigned width, Patch patch) {
  Simple16Reader gaps(from), highs(from);
  for (unsigned i = 0; i < count; ++i) highs.next();
  std::uint64_t position = 0;
  for (unsigned i = 0; i < count; ++i, ++position) {
    position += gaps.next();
    if (position >= n) throw_corrupt("has an exception past its last value");
    patch(static_cast<unsigned>(position), patch_of(highs.next(), width));
  }
}

class OldNewPfdDecoder final : public ListDecoder {
 public:
  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.docid_exceptions == 0)
      return kernels_.unpack_docids(words.data(), Header::docid_slots_bit(), header.docid_width, n, before, out);
    kernels_.unpack_freqs(words.data(), Header::docid_slots_bit(), header.docid_width, n, out);
    for_each_exception(block.docid_exceptions(), header.docid_exceptions, n, header.docid_width,
                       [&](unsigned i, std::uint32_t addend) { out[i] += addend; });
    out[0] += before;
    std::partial_sum(out, out + n, out);
  }

  std::size_t block_words(WordView words, unsigned n) const override {
    const Block block(words, n);
    Simple16Reader exceptions(block.freq_exceptions());
    for (unsigned i = 0; i < 2 * block.header.freq_exceptions; ++i) exceptions.next();
    return block.header.freq_exceptions_word(n) + exceptions.words();
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n);
    kernels_.unpack_freqs(words.data(), block.header.freq_slots_bit(n), block.header.freq_width, n, out);
    patch_freqs(block, [&](unsigned i, std::uint32_t addend) { out[i] += addend; });
  }

  freq_t freq_at(WordView words, unsigned n, unsigned wanted) const override {
    const Block block(words, n);
    const std::uint64_t slot_bit = block.header.freq_slots_bit(n) + std::uint64_t{wanted} * block.header.freq_width;
    freq_t freq = unpack_one(words.data(), slot_bit, block.header.freq_width) + 1;
    patch_freqs(block, [&](unsigned i, std::uint32_t addend) { freq += i == wanted ? addend : 0; });
    return freq;
  }

 private:
  template <class Patch>
  static void patch_freqs(const Block& block, Patch patch) {
    for_each_exception(block.freq_exceptions(), block.header.freq_exceptions, block.n, block.header.freq_width, patch);
  }

  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<OldNewPfdDecoder>(); }

}  // namespace quern::old_newpfd
