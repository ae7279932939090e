#include "quern/codec/short_list.hpp"

#include <bit>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// The maximum size of a list: per posting, 32 bits of docID, and 31 zeros and 32 bits of frequency.
constexpr std::size_t max_list_bytes = max_short_list * (32 + 31 + 32) / 8;

/// Writes the bits of one list into bytes, low bits first.
class BitWriter {
 public:
  /// Appends at most 32 bits; higher bits must be zero.
  void put(std::uint64_t value, unsigned bits) {
    pending_ |= value << pending_bits_;
    pending_bits_ += bits;
    store_le(bytes_.data() + size_, pending_);
    size_ += pending_bits_ / 8;
    pending_ >>= pending_bits_ & ~7u;
    pending_bits_ %= 8;
  }
  std::uint64_t count() const { return size_ * 8 + pending_bits_; }
  /// All bits; the last byte is zero-padded.
  ByteView bytes() const { return ByteView(bytes_).first(size_ + (pending_bits_ > 0 ? 1 : 0)); }

 private:
  std::array<std::uint8_t, max_list_bytes + sizeof(std::uint64_t)> bytes_;
  std::size_t size_ = 0;
  std::uint64_t pending_ = 0;
  unsigned pending_bits_ = 0;
};

/// Reads the bits of one list.
class BitReader {
 public:
  explicit BitReader(ByteView bytes) : end_(std::min(bytes.size(), max_list_bytes) * 8) {
    std::copy_n(bytes.begin(), end_ / 8, bytes_.begin());
    store_le(bytes_.data() + end_ / 8, std::uint64_t{0});
  }

  /// Reads at most 32 bits.
  std::uint64_t get(unsigned bits) {
    need(bits);
    const std::uint64_t value = window() & ((std::uint64_t{1} << bits) - 1);
    at_ += bits;
    return value;
  }
  /// Skips fewer than `max` zeros and the one after them, and returns the number of zeros; empty if there are `max`.
  std::optional<unsigned> skip_zeros(unsigned max) {
    const auto zeros = static_cast<unsigned>(std::countr_zero(window()));
    need(std::min(zeros + 1, max));
    if (zeros >= max) return std::nullopt;
    at_ += zeros + 1;
    return zeros;
  }

 private:
  void need(std::size_t bits) const {
    if (at_ + bits > end_) throw CorruptBlock("a short posting list ends too early");
  }
  /// At least the next 57 bits; zeros past the end.
  std::uint64_t window() const { return load_le<std::uint64_t>(bytes_.data() + at_ / 8) >> (at_ % 8); }

  std::array<std::uint8_t, max_list_bytes + sizeof(std::uint64_t)> bytes_;
  std::size_t at_ = 0, end_;  ///< bit offsets
};

/// Truncated binary code of `value` in 0 to `limit`: the lowest values take one bit less than the others.
void put_within(BitWriter& out, std::uint64_t value, std::uint64_t limit) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(limit));
  const std::uint64_t shorter = (std::uint64_t{1} << bits) - 1 - limit;
  if (bits == 0) return;
  if (value < shorter) {
    out.put(value, bits - 1);
  } else {
    const std::uint64_t code = value + shorter;
    // The lowest bit goes last.
    out.put(code >> 1 | (code & 1) << (bits - 1), bits);
  }
}

std::uint64_t get_within(BitReader& in, std::uint64_t limit) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(limit));
  const std::uint64_t shorter = (std::uint64_t{1} << bits) - 1 - limit;
  if (bits == 0) return 0;
  const std::uint64_t high = in.get(bits - 1);
  if (high < shorter) return high;
  return (high << 1 | in.get(1)) - shorter;
}

void put_gamma(BitWriter& out, std::uint32_t value) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(value));
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  out.put(top, bits);              // bits - 1 zeros, then a one
  out.put(value ^ top, bits - 1);  // the top bit is known
}

std::uint32_t get_gamma(BitReader& in) {
  constexpr unsigned too_many = 32;
  const std::optional<unsigned> zeros = in.skip_zeros(too_many);
  if (!zeros) throw CorruptBlock("a short posting list has a frequency longer than 32 bits");
  return static_cast<std::uint32_t>(in.get(*zeros) | std::uint64_t{1} << *zeros);
}

/// Codes the middle docID within the bounds set by its neighbours, then both halves.
void put_docids(BitWriter& out, std::span<const docid_t> docids, std::uint64_t low, std::uint64_t high) {
  if (docids.empty()) return;
  const std::size_t middle = docids.size() / 2;
  const std::uint64_t least = low + middle, greatest = high - (docids.size() - 1 - middle);
  put_within(out, docids[middle] - least, greatest - least);
  put_docids(out, docids.first(middle), low, std::uint64_t{docids[middle]} - 1);
  put_docids(out, docids.subspan(middle + 1), std::uint64_t{docids[middle]} + 1, high);
}

void get_docids(BitReader& in, std::span<docid_t> docids, std::uint64_t low, std::uint64_t high) {
  if (docids.empty()) return;
  const std::size_t middle = docids.size() / 2;
  const std::uint64_t least = low + middle, greatest = high - (docids.size() - 1 - middle);
  docids[middle] = static_cast<docid_t>(least + get_within(in, greatest - least));
  get_docids(in, docids.first(middle), low, std::uint64_t{docids[middle]} - 1);
  get_docids(in, docids.subspan(middle + 1), std::uint64_t{docids[middle]} + 1, high);
}

}  // namespace

CodedBits put_short_list(std::span<const docid_t> docids, std::span<const freq_t> freqs, docid_t num_documents,
                         Bytes& out) {
  BitWriter bits;
  put_docids(bits, docids, 0, std::uint64_t{num_documents} - 1);
  CodedBits coded{bits.count(), 0};
  for (const freq_t freq : freqs) put_gamma(bits, freq);
  coded.freq_bits = bits.count() - coded.docid_bits;
  const ByteView bytes = bits.bytes();
  out.insert(out.end(), bytes.begin(), bytes.end());
  coded.docid_bits = bytes.size() * 8 - coded.freq_bits;
  return coded;
}

void get_short_list(ByteView bytes, docid_t num_documents, std::span<docid_t> docids, std::span<freq_t> freqs) {
  if (docids.size() > num_documents)
    throw CorruptBlock("a short posting list has more postings than there are documents");
  BitReader bits(bytes);
  get_docids(bits, docids, 0, std::uint64_t{num_documents} - 1);
  for (freq_t& freq : freqs) freq = get_gamma(bits);
}

}  // namespace quern
