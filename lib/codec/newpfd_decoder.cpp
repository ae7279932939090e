#include <array>
#include <string>

#include "quern/codec/newpfd.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/codec/simple16.hpp"
#include "quern/core/error.hpp"

namespace quern::newpfd {
namespace {

[[noreturn]] void throw_corrupt(const char* what) {
  throw CorruptFile(std::string("a NewPFD block ") + what + "; the index is damaged: build it again");
}

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

/// The exceptions of a stream: where they stand and what is to be added there.
class Exceptions {
 public:
  /// Throws CorruptFile where a position isn't below n.
  Exceptions(WordView from, unsigned count, unsigned n) : count_(count) {
    words_ = simple16_decode(from, 2 * count, values_.data());
    std::uint32_t next = 0;
    for (unsigned i = 0; i < count; ++i) {
      // Both are below 2^29: no overflow.
      const std::uint32_t position = next + values_[i];
      if (position >= n) throw_corrupt("has an exception behind its last value");
      values_[i] = position;
      next = position + 1;
    }
  }

  std::size_t words() const { return words_; }
  unsigned size() const { return count_; }
  unsigned position(unsigned i) const { return values_[i]; }
  std::uint32_t high_part(unsigned i, unsigned width) const {
    return static_cast<std::uint32_t>((std::uint64_t{values_[count_ + i]} + 1) << width);
  }

  void patch(std::uint32_t* out, unsigned width) const {
    for (unsigned i = 0; i < count_; ++i) out[position(i)] += high_part(i, width);
  }

 private:
  unsigned count_;
  std::size_t words_;
  std::array<std::uint32_t, 2 * max_exceptions + simple16_slack> values_;
};

class NewPfdDecoder final : public ListDecoder {
 public:
  std::size_t decode_docids(WordView words, unsigned n, docid_t before, docid_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    unpack(words.data(), Header::docid_slots_bit(), header.docid_width, n, out);
    if (header.docid_exceptions != 0) {
      const Exceptions exceptions(block.docid_exceptions(), header.docid_exceptions, n);
      exceptions.patch(out, header.docid_width);
    }
    sum_gaps(out, n, before);
    return header.freq_exceptions_word(n) + simple16_skip(block.freq_exceptions(), 2 * header.freq_exceptions);
  }

  void decode_freqs(WordView words, unsigned n, freq_t* out) const override {
    const Block block(words, n);
    const Header& header = block.header;
    unpack(words.data(), header.freq_slots_bit(n), header.freq_width, n, out);
    if (header.freq_exceptions != 0) {
      const Exceptions exceptions(block.freq_exceptions(), header.freq_exceptions, n);
      exceptions.patch(out, header.freq_width);
    }
    add_to_all(out, n, 1);
  }

  freq_t freq_at(WordView words, unsigned n, unsigned i) const override {
    const Block block(words, n);
    const Header& header = block.header;
    const std::uint64_t slot_bit = header.freq_slots_bit(n) + std::uint64_t{i} * header.freq_width;
    freq_t freq = unpack_one(words.data(), slot_bit, header.freq_width) + 1;
    if (header.freq_exceptions == 0) return freq;
    const Exceptions exceptions(block.freq_exceptions(), header.freq_exceptions, n);
    for (unsigned e = 0; e < exceptions.size() && exceptions.position(e) <= i; ++e)
      if (exceptions.position(e) == i) freq += exceptions.high_part(e, header.freq_width);
    return freq;
  }
};

}  // namespace

std::unique_ptr<ListDecoder> make_decoder() { return std::make_unique<NewPfdDecoder>(); }

}  // namespace quern::newpfd
