#include <array>
#include <string>

#include "quern/codec/codecs.hpp"
#include "quern/codec/kernel_parts.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/codec/simple16.hpp"
#include "quern/core/error.hpp"

namespace quern::newpfd {
namespace {

[[noreturn]] void throw_corrupt(const char* what) { throw CorruptBlock(std::string("a NewPFD block ") + what); }

/// A block whose header was read and whose slots lie within it.
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

/// The exceptions of a stream: gaps between their positions, then their high parts less one.
class Exceptions {
 public:
  Exceptions(const Kernels& kernels, WordView from, unsigned count) : count_(count) {
    simple16_decode(kernels, from, 2 * count, values_.data());
  }

  /// Throws CorruptBlock if a position isn't below n.
  void place(const Kernels& kernels, unsigned width, unsigned n, std::uint32_t* out) const {
    if (!kernels.place_patches(values_.data(), values_.data() + count_, count_, width, n, out))
      throw_corrupt("has an exception after its last value");
  }

  /// What is to be added to value i.
  std::uint32_t patch_at(unsigned i, unsigned width) const {
    std::uint64_t position = 0;
    for (unsigned e = 0; e < count_ && position <= i; ++e, ++position) {
      position += values_[e];
      if (position == i) return patch_of(values_[count_ + e], width);
    }
    return 0;
  }

 private:
  unsigned count_;
  std::array<std::uint32_t, 2 * max_exceptions + simple16_decode_slack> values_;
};

class NewPfdDecoder final : public ListDecoder {
 public:
  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.docid_exceptions == 0)
      return kernels_.unpack_docids(words.data(), Header::docid_slots_bit(), header.docid_width, n, before, out);
    const Exceptions exceptions(kernels_, block.docid_exceptions(), header.docid_exceptions);
    exceptions.place(kernels_, header.docid_width, n, out);
    kernels_.unpack_docids_patched(words.data(), Header::docid_slots_bit(), header.docid_width, n, before, out);
  }

  std::size_t block_words(WordView words, unsigned n) const override {
    const Block block(words, n);
    return block.header.freq_exceptions_word(n) +
           simple16_skip(block.freq_exceptions(), 2 * block.header.freq_exceptions);
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.freq_exceptions == 0)
      return kernels_.unpack_freqs(words.data(), header.freq_slots_bit(n), header.freq_width, n, out);
    const Exceptions exceptions(kernels_, block.freq_exceptions(), header.freq_exceptions);
    exceptions.place(kernels_, header.freq_width, n, out);
    kernels_.unpack_freqs_patched(words.data(), header.freq_slots_bit(n), header.freq_width, n, out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n);
    const Header& header = block.header;
    const std::uint64_t slot_bit = header.freq_slots_bit(n) + std::uint64_t{i} * header.freq_width;
    const freq_t freq = unpack_one(words.data(), slot_bit, header.freq_width) + 1;
    if (header.freq_exceptions == 0) return freq;
    const Exceptions exceptions(kernels_, block.freq_exceptions(), header.freq_exceptions);
    return freq + exceptions.patch_at(i, header.freq_width);
  }

 private:
  const Kernels& kernels_ = kernels();
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<NewPfdDecoder>(); }

}  // namespace quern::newpfd
