#include "quern/codec/short_list.hpp"

#include <bit>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Bits go into bytes low bits first.
class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}

  void put(std::uint64_t value, unsigned bits) {
    for (unsigned done = 0; done < bits; ++done, ++count_) {
      if (count_ % 8 == 0) out_.push_back(0);
      out_.back() |= static_cast<std::uint8_t>(((value >> done) & 1) << (count_ % 8));
    }
  }
  std::uint64_t count() const { return count_; }

 private:
  Bytes& out_;
  std::uint64_t count_ = 0;
};

class BitReader {
 public:
  explicit BitReader(ByteView bytes) : bytes_(bytes) {}

  std::uint64_t get(unsigned bits) {
    if (at_ + bits > bytes_.size() * 8) throw CorruptBlock("a short posting list ends too early");
    std::uint64_t value = 0;
    for (unsigned done = 0; done < bits;) {
      const unsigned skip = at_ % 8, take = std::min(8 - skip, bits - done);
      const std::uint64_t piece = (bytes_[at_ / 8] >> skip) & ((1u << take) - 1);
      value |= piece << done;
      done += take;
      at_ += take;
    }
    return value;
  }

 private:
  ByteView bytes_;
  std::uint64_t at_ = 0;
};

/// Truncated binary code of `value` in 0 to `limit`: the first values take a bit less than the others.
void put_within(BitWriter& out, std::uint64_t value, std::uint64_t limit) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(limit));
  const std::uint64_t shorter = (std::uint64_t{1} << bits) - 1 - limit;
  if (bits == 0) return;
  if (value < shorter) {
    out.put(value, bits - 1);
  } else {
    const std::uint64_t code = value + shorter;
    out.put(code >> 1, bits - 1);
    out.put(code & 1, 1);
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
  out.put(std::uint64_t{1} << (bits - 1), bits);  // bits - 1 zeros, then a one
  out.put(value, bits - 1);                       // the top bit is known
}

std::uint32_t get_gamma(BitReader& in) {
  unsigned zeros = 0;
  while (in.get(1) == 0)
    if (++zeros == 32) throw CorruptBlock("a short posting list has a frequency of more than 32 bits");
  return static_cast<std::uint32_t>(in.get(zeros) | std::uint64_t{1} << zeros);
}

/// The middle docID within what its neighbours allow, then the halves.
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
  const std::size_t before = out.size();
  BitWriter bits(out);
  put_docids(bits, docids, 0, std::uint64_t{num_documents} - 1);
  CodedBits coded{bits.count(), 0};
  for (const freq_t freq : freqs) put_gamma(bits, freq);
  coded.freq_bits = bits.count() - coded.docid_bits;
  coded.docid_bits = (out.size() - before) * 8 - coded.freq_bits;
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
