#pragma once
#include <bit>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/maskpfd.hpp"
#include "quern/codec/newpfd.hpp"
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/block_place.hpp"
#include "quern/gpu/device/searches.hpp"

/// Serial decoders, which decode a block to memory by one thread. They are constexpr, so host and device run the same
/// code. Blocks are not trusted: decoders return false for a damaged one, and read at most 4,096 words after it.
namespace quern::gpu {

/// Tables, which have different addresses on host and device, and a buffer.
struct SerialContext {
  const rpfd::Shape* shape = nullptr;  ///< of rpfd, for the index's recursion
  std::uint32_t* nested = nullptr;     ///< of rpfd: shape->size * block_size numbers
  std::uint32_t block_size = 0;
  std::uint32_t num_documents = 0;
};

/// The value of `width` bits (0 to 32) at `bit`; also reads the word after the value's first.
constexpr std::uint32_t serial_value(const std::uint32_t* words, std::uint64_t bit, unsigned width) {
  const std::uint32_t* word = words + (bit >> 5);
  const std::uint64_t window = std::uint64_t{word[1]} << 32 | word[0];
  return static_cast<std::uint32_t>(window >> (bit & 31)) & low_mask(width);
}

/// The number of consecutive ones from the lowest bit. nvcc 13 with libstdc++ 12 compiles std::countr_one() to 32.
constexpr std::uint32_t trailing_ones(std::uint32_t bits) {
  const std::uint32_t first_zero = ~bits & (bits + 1);
  return first_zero == 0 ? 32 : static_cast<std::uint32_t>(std::bit_width(first_zero)) - 1;
}

/// Sums gaps up to docIDs, and checks that they rise and are below the number of documents.
class RisingDocids {
 public:
  constexpr RisingDocids(std::uint32_t before, std::uint32_t num_documents)
      : next_(before + 1), num_documents_(num_documents) {}

  /// False if the docID is not below the number of documents.
  constexpr bool add(std::uint32_t gap, std::uint32_t& docid) {
    docid = next_ + gap;
    if (docid < next_ || docid >= num_documents_) return false;
    next_ = docid + 1;
    return true;
  }

 private:
  std::uint32_t next_;  ///< the lowest possible next docID
  std::uint32_t num_documents_;
};

// Blocks of maskpfd, decoded by one thread; formats/codec/maskpfd.md describes them.

/// Reads the values of a stream one after another.
class SerialMaskPfdStream {
 public:
  constexpr SerialMaskPfdStream(const std::uint32_t* words, const maskpfd::Arrays& stream,
                                const maskpfd::HighPlaces& places, std::uint32_t slots_bit)
      : words_(words), stream_(stream), next_(places), slots_bit_(slots_bit) {}

  constexpr std::uint32_t next() {
    std::uint32_t value = take(slots_bit_, stream_.widths[0]);
    unsigned shift = stream_.widths[0];
    for (unsigned i = 0; i + 1 < stream_.count && take(next_.arrays[i].mask_bit, 1) != 0; ++i) {
      maskpfd::HighPlaces::Array& array = next_.arrays[i];
      value += exception_addend(take(array.slots_bit, stream_.widths[i + 1]), shift);
      shift += stream_.widths[i + 1];
    }
    return value;
  }

 private:
  constexpr std::uint32_t take(std::uint32_t& bit, unsigned width) const {
    const std::uint32_t value = serial_value(words_, bit, width);
    bit += width;
    return value;
  }

  const std::uint32_t* words_;
  maskpfd::Arrays stream_;
  maskpfd::HighPlaces next_;  ///< of the next values
  std::uint32_t slots_bit_;
};

class SerialMaskPfd {
 public:
  constexpr explicit SerialMaskPfd(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    header_ = maskpfd::Header(place.words[0]);
    if (header_.slots_end_bit(place.n) > 32 * std::uint64_t{place.size}) return false;
    std::uint32_t end = 0;
    return header_.find(place.n, place.size, docid_places_, freq_places_, end,
                        [&](maskpfd::HighPlaces::Array& array, unsigned, const maskpfd::Arrays&, std::uint32_t bit) {
                          array.mask_bit = bit;
                          return ones(bit, array.above);
                        });
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    SerialMaskPfdStream gaps(place_.words, header_.docids, docid_places_, header_.docid_slots_bit(place_.n));
    RisingDocids sum(place_.before, context_.num_documents);
    for (std::uint32_t i = 0; i < place_.n; ++i)
      if (!sum.add(gaps.next(), out[i])) return false;
    return true;
  }

  constexpr bool freqs(std::uint32_t* out) const {
    SerialMaskPfdStream values(place_.words, header_.freqs, freq_places_, header_.freq_slots_bit(place_.n));
    for (std::uint32_t i = 0; i < place_.n; ++i) out[i] = values.next() + 1;
    return true;
  }

  static constexpr bool has_separate_freqs = true;  ///< whether separate_freq() can be called
  /// The frequency of posting i, with its high parts if it is an exception.
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    const maskpfd::Arrays& stream = header_.freqs;
    unsigned shift = stream.widths[0];
    std::uint32_t value = serial_value(place_.words, header_.freq_slots_bit(place_.n) + i * shift, shift);
    for (unsigned level = 0; level + 1 < stream.count; ++level) {
      const maskpfd::HighPlaces::Array& array = freq_places_.arrays[level];
      if (serial_value(place_.words, array.mask_bit + i, 1) == 0) break;
      i = ones(array.mask_bit, i);  // its place among the high parts
      const unsigned width = stream.widths[level + 1];
      value += exception_addend(serial_value(place_.words, array.slots_bit + i * width, width), shift);
      shift += width;
    }
    return value + 1;
  }

 private:
  /// The number of ones among the n bits at `bit`.
  constexpr std::uint32_t ones(std::uint32_t bit, std::uint32_t n) const {
    std::uint32_t ones = 0;
    for (std::uint32_t i = 0; i < n; i += 32)
      ones += count_ones(serial_value(place_.words, bit + i, n - i < 32 ? n - i : 32));
    return ones;
  }

  SerialContext context_;
  BlockPlace place_;
  maskpfd::Header header_;
  maskpfd::HighPlaces docid_places_, freq_places_;
};

/// The numbers that `count` exceptions, with position gaps and high parts from two sources, add to values in order.
template <class Source>
class SerialPatches {
 public:
  constexpr SerialPatches(const Source& gaps, const Source& highs, unsigned count, unsigned width)
      : gaps_(gaps), highs_(highs), left_(count), width_(width) {
    find_next(0);
  }

  constexpr std::uint32_t at(std::uint32_t i) {
    if (i != place_) return 0;
    std::uint32_t high = 0;
    if (!highs_(high)) return fail();
    --left_;
    find_next(i + 1);
    return exception_addend(high, width_);
  }
  /// Whether at() was called for the values of all exceptions.
  constexpr bool all_used() const { return left_ == 0; }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  constexpr void find_next(std::uint32_t first) {
    std::uint32_t gap = 0;
    place_ = left_ > 0 && gaps_(gap) ? first + gap : none;
  }
  constexpr std::uint32_t fail() {
    place_ = none;
    return 0;
  }

  Source gaps_, highs_;      ///< of the next exception
  std::uint32_t place_ = 0;  ///< of the next exception
  unsigned left_, width_;
};

// NewPFD blocks, decoded by one thread; formats/codec/newpfd.md describes them.

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
    return values(newpfd::Header::docid_slots_bit(), header_.docid_width, header_.docid_exceptions,
                  {exceptions, exceptions + header_.docid_exception_words},
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(header_.freq_slots_bit(place_.n), header_.freq_width, header_.freq_exceptions, freq_exceptions(),
                  [&](std::uint32_t i, std::uint32_t value) {
                    out[i] = value + 1;
                    return true;
                  });
  }

  static constexpr bool has_separate_freqs = true;  ///< whether separate_freq() can be called
  /// The frequency of posting i, with its high part if it is an exception; 0 if the exceptions are damaged.
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    const unsigned width = header_.freq_width, count = header_.freq_exceptions;
    const std::uint32_t freq = serial_value(place_.words, header_.freq_slots_bit(place_.n) + i * width, width) + 1;
    simple16::Reader exceptions = freq_exceptions();
    std::uint32_t gap = 0, high = 0, next = 0;  // next: the position after the last exception
    for (unsigned e = 0; e < count && next <= i; ++e, ++next) {
      if (!exceptions(gap) || (next += gap) >= place_.n) return 0;
      // Between its gap and its high part are the later gaps and the earlier high parts.
      if (next == i) return exceptions.skip(count - 1) && exceptions(high) ? freq + exception_addend(high, width) : 0;
    }
    return freq;
  }

 private:
  constexpr simple16::Reader freq_exceptions() const {
    return {place_.words + header_.freq_exceptions_word(place_.n), place_.words + place_.size};
  }

  /// Calls take(i, value) for the values of a stream until it returns false.
  template <class Take>
  constexpr bool values(std::uint32_t bit, unsigned width, unsigned exceptions, const simple16::Reader& gaps,
                        Take&& take) const {
    simple16::Reader highs = gaps;
    if (!highs.skip(exceptions)) return false;
    SerialPatches patches(gaps, highs, exceptions, width);
    for (std::uint32_t i = 0; i < place_.n; ++i, bit += width)
      if (!take(i, serial_value(place_.words, bit, width) + patches.at(i))) return false;
    return patches.all_used();
  }

  SerialContext context_;
  BlockPlace place_;
  newpfd::Header header_;
};

// Rice-coded blocks, decoded by one thread; formats/codec/rice.md describes them.

class SerialRice {
 public:
  constexpr explicit SerialRice(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    return parts_.open(place);
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    RisingDocids sum(place_.before, context_.num_documents);
    return values(parts_.remainders_bit, parts_.docid_width, parts_.docid_unary_bit, parts_.docid_unary,
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(parts_.remainders_bit + place_.n * parts_.docid_width, parts_.freq_width,
                  parts_.docid_unary_bit + parts_.docid_unary, parts_.freq_unary,
                  [&](std::uint32_t i, std::uint32_t value) {
                    out[i] = value + 1;
                    return true;
                  });
  }

  /// A frequency's unary code can only be found by reading its predecessors.
  static constexpr bool has_separate_freqs = false;

 private:
  /// Calls take(i, value) for the values of a stream until it returns false. False unless the unary codes have exactly
  /// n terminators, the last at their end.
  template <class Take>
  constexpr bool values(std::uint64_t bit, unsigned width, std::uint64_t unary_bit, std::uint32_t unary,
                        Take&& take) const {
    const std::uint64_t end = unary_bit + unary;
    for (std::uint32_t i = 0; i < place_.n; ++i, bit += width) {
      std::uint32_t ones = 0;
      for (;;) {
        if (unary_bit >= end) return false;
        const std::uint32_t run = trailing_ones(serial_value(place_.words, unary_bit, 32));
        ones += run;
        unary_bit += run;
        if (run < 32) break;
      }
      if (++unary_bit > end) return false;
      if (!take(i, (ones << width) + serial_value(place_.words, bit, width))) return false;
    }
    return unary_bit == end;
  }

  SerialContext context_;
  BlockPlace place_;
  RiceParts parts_;
};

// Recursive PForDelta blocks, decoded by one thread; formats/codec/rpfd.md describes them.

/// Numbers in memory, one after another.
struct SerialNumbers {
  const std::uint32_t* next;

  constexpr bool operator()(std::uint32_t& number) {
    number = *next++;
    return true;
  }
};

class SerialRpfd {
 public:
  constexpr explicit SerialRpfd(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    const rpfd::Shape& shape = *context_.shape;
    for (unsigned i = 0; i < shape.size; ++i) {
      docid_widths_[i] = width_of(place.list, i);
      freq_widths_[i] = width_of(place.list, shape.size + i);
    }
    std::uint32_t bit = 0;
    bool sound = true;
    const auto read = [&](unsigned bits, std::uint32_t values) {
      const std::uint32_t count = serial_value(place.words, bit, bits);
      bit += bits;
      sound &= count <= values;
      return count <= values ? count : 0;
    };
    layout_.docids.count(shape, docid_widths_, place.n, read);
    layout_.freqs.count(shape, freq_widths_, place.n, read);
    layout_.place(shape, docid_widths_, freq_widths_, bit);
    return sound && layout_.words <= place.size;
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    RisingDocids sum(place_.before, context_.num_documents);
    return values(layout_.docids, docid_widths_,
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(layout_.freqs, freq_widths_, [&](std::uint32_t i, std::uint32_t value) {
      out[i] = value + 1;
      return true;
    });
  }

  static constexpr bool has_separate_freqs = true;  ///< whether separate_freq() can be called
  /// The frequency of posting i, with its high part if it is an exception; decodes only the exceptions. 0 if these are
  /// damaged.
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    const rpfd::Stream& stream = layout_.freqs;
    const unsigned width = freq_widths_[0], count = stream.exceptions[0];
    const std::uint64_t bit = stream.slots_bit[0] + std::uint64_t{i} * width;
    const std::uint32_t freq = serial_value(place_.words, bit, width) + 1;
    if (count == 0) return freq;
    if (!decode_nested(stream, freq_widths_)) return 0;
    SerialNumbers gaps = gaps_of(stream, 0), highs = highs_of(stream, 0);
    std::uint32_t gap = 0, high = 0, next = 0;  // next: the position after the last exception
    for (unsigned e = 0; e < count && next <= i && gaps(gap) && highs(high); ++e, ++next) {
      if ((next += gap) >= place_.n) return 0;
      if (next == i) return freq + exception_addend(high, width);
    }
    return freq;
  }

 private:
  constexpr static std::uint8_t width_of(const std::uint32_t* list, unsigned array) {
    return static_cast<std::uint8_t>(rpfd::width_of_code(serial_value(list, rpfd::code_bits * array, rpfd::code_bits)));
  }

  /// Calls take(i, value) for a stream's values until it returns false.
  template <class Take>
  constexpr bool values(const rpfd::Stream& stream, const rpfd::Widths& widths, Take&& take) const {
    return (stream.exceptions[0] == 0 || decode_nested(stream, widths)) && values_of(stream, widths, 0, take);
  }

  /// Decodes all arrays below the stream's own, each before its parent.
  constexpr bool decode_nested(const rpfd::Stream& stream, const rpfd::Widths& widths) const {
    for (unsigned array = context_.shape->size - 1; array > 0; --array) {
      std::uint32_t* out = context_.nested + array * context_.block_size;
      const auto keep = [&](std::uint32_t i, std::uint32_t value) {
        out[i] = value;
        return true;
      };
      if (!values_of(stream, widths, array, keep)) return false;
    }
    return true;
  }

  /// The high parts of an array's exceptions, and their position gaps.
  constexpr SerialNumbers highs_of(const rpfd::Stream& stream, unsigned array) const {
    const unsigned child = context_.shape->arrays[array].highs;
    return {child != 0 ? context_.nested + child * context_.block_size : place_.words + stream.raw_word[array]};
  }
  constexpr SerialNumbers gaps_of(const rpfd::Stream& stream, unsigned array) const {
    const unsigned child = context_.shape->arrays[array].positions;
    return {child != 0 ? context_.nested + child * context_.block_size
                       : place_.words + stream.raw_word[array] + stream.exceptions[array]};
  }

  template <class Take>
  constexpr bool values_of(const rpfd::Stream& stream, const rpfd::Widths& widths, unsigned array, Take&& take) const {
    const unsigned width = widths[array];
    SerialPatches patches(gaps_of(stream, array), highs_of(stream, array), stream.exceptions[array], width);
    std::uint64_t bit = stream.slots_bit[array];
    for (std::uint32_t i = 0; i < stream.values[array]; ++i, bit += width)
      if (!take(i, serial_value(place_.words, bit, width) + patches.at(i))) return false;
    return patches.all_used();
  }

  SerialContext context_;
  BlockPlace place_;
  rpfd::Widths docid_widths_{}, freq_widths_{};
  rpfd::Layout layout_{};
};

template <Coding coding>
struct SerialDecoderOf;
template <>
struct SerialDecoderOf<Coding::maskpfd> {
  using Type = SerialMaskPfd;
};
template <>
struct SerialDecoderOf<Coding::newpfd> {
  using Type = SerialNewPfd;
};
template <>
struct SerialDecoderOf<Coding::rpfd> {
  using Type = SerialRpfd;
};
template <>
struct SerialDecoderOf<Coding::rice> {
  using Type = SerialRice;
};

/// Whether a thread can read a single frequency of any block, without the tables and buffers of SerialContext.
template <Coding coding>
inline constexpr bool has_frequencies_apart = coding == Coding::maskpfd || coding == Coding::newpfd;

}  // namespace quern::gpu
