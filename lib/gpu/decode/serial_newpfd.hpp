#pragma once
#include "quern/codec/newpfd_layout.hpp"
#include "quern/gpu/decode/serial_bits.hpp"

/// NewPFD blocks, decoded by one thread; formats/newpfd.md describes them.
namespace quern::gpu {

/// Reads the values of a Simple16 stream one after another.
class SerialSimple16 {
 public:
  constexpr SerialSimple16(const simple16::Table* table, const std::uint32_t* from, const std::uint32_t* end)
      : table_(table), next_(from), end_(end) {}

  /// False after the last word.
  constexpr bool operator()(std::uint32_t& value) {
    if (place_ == size_ && !load()) return false;
    const unsigned shifts = table_->cuts[word_ >> 28][place_++];
    value = word_ << (shifts & 31) >> (shifts >> 8);
    return true;
  }
  /// Skips values, word by word.
  constexpr bool skip(unsigned count) {
    while (count > size_ - place_) {
      count -= size_ - place_;
      if (!load()) return false;
    }
    place_ += count;
    return true;
  }

 private:
  constexpr bool load() {
    if (next_ >= end_) return false;
    word_ = *next_++;
    place_ = 0;
    size_ = table_->cuts[word_ >> 28][31];
    return true;
  }

  const simple16::Table* table_;
  const std::uint32_t *next_, *end_;
  std::uint32_t word_ = 0;
  unsigned place_ = 0, size_ = 0;  ///< in the word
};

class SerialNewPfd {
 public:
  constexpr explicit SerialNewPfd(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    header_ = newpfd::Header(place.words[0]);
    return header_.freq_exceptions_word(place.n) <= place.size;
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    const std::uint32_t* exceptions = place_.words + header_.docid_exceptions_word(place_.n);
    RisingDocids sum(place_.before, context_.num_documents);
    return values(newpfd::Header::docid_slots_bit(), header_.docid_width, header_.docid_exceptions, exceptions,
                  exceptions + header_.docid_exception_words,
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(header_.freq_slots_bit(place_.n), header_.freq_width, header_.freq_exceptions,
                  place_.words + header_.freq_exceptions_word(place_.n), place_.words + place_.size,
                  [&](std::uint32_t i, std::uint32_t value) {
                    out[i] = value + 1;
                    return true;
                  });
  }

  /// Whether separate_freq() can be called: none of the block's frequencies is an exception.
  constexpr bool has_separate_freqs() const { return header_.freq_exceptions == 0; }
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    return serial_value(place_.words, header_.freq_slots_bit(place_.n) + i * header_.freq_width, header_.freq_width) +
           1;
  }

 private:
  /// Calls take(i, value) for the values of a stream until that returns false.
  template <class Take>
  constexpr bool values(std::uint64_t bit, unsigned width, unsigned exceptions, const std::uint32_t* from,
                        const std::uint32_t* end, Take&& take) const {
    const SerialSimple16 gaps(context_.simple16, from, end);
    SerialSimple16 highs = gaps;
    if (!highs.skip(exceptions)) return false;
    SerialPatches patches(gaps, highs, exceptions, width);
    for (std::uint32_t i = 0; i < place_.n; ++i, bit += width)
      if (!take(i, serial_value(place_.words, bit, width) + patches.at(i))) return false;
    return patches.sound();
  }

  SerialContext context_;
  BlockPlace place_;
  newpfd::Header header_;
};

}  // namespace quern::gpu
