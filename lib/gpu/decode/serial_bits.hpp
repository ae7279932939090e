#pragma once
#include <bit>
#include <cstdint>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/block_place.hpp"

/// What the serial decoders share. A serial decoder decodes a block by one thread, to memory. All of it is constexpr,
/// so that host and device run the same code. Blocks are not trusted: decoders return false for a damaged one, and read
/// at most 4,096 words after it.
namespace quern::gpu {

/// Tables, which have other addresses on host and device, and a buffer.
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

/// The number of ones, by sums of neighbouring bits, pairs, and so on.
constexpr std::uint32_t count_ones(std::uint32_t bits) {
  bits -= bits >> 1 & 0x55555555;
  bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
  return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
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
  std::uint32_t next_;  ///< the lowest docID that may follow
  std::uint32_t num_documents_;
};

/// What an array's exceptions add to its values, in the order of the values. Gaps(gap) and Highs(high) read the next
/// value of their streams; false if there is none.
template <class Gaps, class Highs>
class SerialPatches {
 public:
  constexpr SerialPatches(const Gaps& gaps, const Highs& highs, unsigned count, unsigned width)
      : gaps_(gaps), highs_(highs), left_(count), width_(width) {
    find_next(0);
  }

  /// What the exceptions add to value i.
  constexpr std::uint32_t at(std::uint32_t i) {
    if (i != place_) return 0;
    std::uint32_t high = 0;
    sound_ &= highs_(high);
    --left_;
    find_next(i + 1);
    return exception_addend(high, width_);
  }
  /// Whether all exceptions were at values that at() was called for, and their streams were long enough.
  constexpr bool sound() const { return sound_ && left_ == 0; }

 private:
  constexpr void find_next(std::uint32_t first) {
    place_ = 0xffffffffu;
    if (left_ == 0) return;
    std::uint32_t gap = 0;
    sound_ &= gaps_(gap);
    place_ = first + gap;
  }

  Gaps gaps_;
  Highs highs_;
  std::uint32_t place_ = 0;  ///< of the next exception
  unsigned left_, width_;
  bool sound_ = true;
};

}  // namespace quern::gpu
