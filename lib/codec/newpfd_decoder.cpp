#include <string>

#include "quern/codec/codecs.hpp"
#include "quern/codec/exceptions.hpp"
#include "quern/codec/kernels.hpp"
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

[[noreturn]] void throw_behind() { throw_corrupt("has an exception after its last value"); }

/// A stream of exceptions: gaps between their positions, then their high parts less one.
template <class Value>
using Exceptions = ExceptionValues<Value, 2 * max_exceptions + simple16_decode_slack>;

/// Calls unpack(highs) with the high parts of `count` exceptions at the places of the values that they belong to.
/// Throws CorruptBlock if a position isn't below n.
template <class Value, class Unpack>
[[gnu::always_inline]] inline void place_highs(const Exceptions<Value>& exceptions, unsigned count, unsigned n,
                                               Unpack unpack) {
  PlacedHighs<Value> placed;
  if (!placed.place(exceptions.data(), exceptions.data() + count, count, n)) throw_behind();
  unpack(placed.data());
}

/// place_highs() of a stream with values of any width, which is rare.
template <class Unpack>
[[gnu::noinline]] void place_wide_highs(const Kernels& kernels, WordView from, unsigned count, unsigned n,
                                        Unpack unpack) {
  Exceptions<std::uint32_t> exceptions;
  simple16_decode(kernels, from, 2 * count, exceptions.data());
  place_highs(exceptions, count, n, unpack);
}

/// place_highs() of the stream of `count` exceptions at the front of `from`.
template <class Unpack>
[[gnu::always_inline]] inline void with_highs(const Kernels& kernels, WordView from, unsigned count, unsigned n,
                                              Unpack unpack) {
  Exceptions<std::uint16_t> exceptions;
  if (!simple16_decode_narrow(kernels, from, 2 * count, exceptions.data()))
    return place_wide_highs(kernels, from, count, n, unpack);
  place_highs(exceptions, count, n, unpack);
}

/// What the exceptions of a stream add to value i.
std::uint32_t patch_at(const Kernels& kernels, WordView from, unsigned count, unsigned i, unsigned width) {
  Exceptions<std::uint32_t> exceptions;
  simple16_decode(kernels, from, 2 * count, exceptions.data());
  std::uint64_t position = 0;
  for (unsigned e = 0; e < count && position <= i; ++e, ++position) {
    position += exceptions.data()[e];
    if (position == i) return patch_of(exceptions.data()[count + e], width);
  }
  return 0;
}

class NewPfdDecoder final : public ListDecoder {
 public:
  void decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    if (header.docid_exceptions == 0)
      return kernels_.unpack_docids(words.data(), Header::docid_slots_bit(), header.docid_width, n, before, out);
    decode_patched_docids(block, before, out);
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
    decode_patched_freqs(block, out);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n);
    const Header& header = block.header;
    const std::uint64_t slot_bit = header.freq_slots_bit(n) + std::uint64_t{i} * header.freq_width;
    const freq_t freq = unpack_one(words.data(), slot_bit, header.freq_width) + 1;
    if (header.freq_exceptions == 0) return freq;
    return freq + patch_at(kernels_, block.freq_exceptions(), header.freq_exceptions, i, header.freq_width);
  }

 private:
  // Apart from the above, so that blocks without exceptions don't make room for them.
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

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<NewPfdDecoder>(); }

}  // namespace quern::newpfd
