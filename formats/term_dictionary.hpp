#pragma once
#include "quern/formats/container.hpp"
#include "quern/io/spool.hpp"

/// Terms in byte order, front-coded in blocks, each with a payload. See term_dictionary.md.
namespace quern {

inline constexpr std::uint32_t terms_per_block = 32;

/// The first eight bytes of a term, padded with zeros, as a number that compares like them.
std::uint64_t leading_bytes(std::string_view term);

/// Writes a dictionary to `sink` as terms arrive, in byte order; block offsets go to a spool.
class DictionaryWriter {
 public:
  using Sink = std::function<void(ByteView)>;
  DictionaryWriter(Sink sink, const std::string& tmp_folder) : sink_(std::move(sink)), offsets_(tmp_folder) {}

  /// Whether the next term opens a block; its payload then starts with per-block data.
  bool at_block_start() const { return count_ % terms_per_block == 0; }
  /// Throws Error unless `term` is greater than the previous one.
  void add(std::string_view term, ByteView payload);
  std::uint64_t size() const { return count_; }
  /// Flushes the buffer and returns the byte offsets of each block and of the end, as 64-bit numbers.
  const Spool& finish();

 private:
  void put_offset(std::uint64_t offset) { offsets_.append_array(std::span(&offset, 1)); }

  Sink sink_;
  Bytes buffer_;
  std::string last_;
  Spool offsets_;
  std::uint64_t written_ = 0;
  std::uint64_t count_ = 0;
};

/// A term of a block and its payload, as views valid until the cursor's next step.
struct DictionaryEntry {
  std::string_view term;
  ByteView payload;
};

/// Iterates over the `num_terms` terms of a block. Throws CorruptFile, with `what`, for damaged bytes.
class DictionaryBlock {
 public:
  DictionaryBlock(ByteView block, std::uint64_t num_terms, std::string_view what)
      : reader_(block, what), left_(num_terms) {}
  bool next(DictionaryEntry& entry);
  /// The payload of `term`, or nullopt; calls pass(payload) for the terms before it. The block must be at its start.
  /// Doesn't decode terms: shared prefixes decide the comparison.
  template <class Pass>
  std::optional<ByteView> find(std::string_view term, Pass&& pass);

 private:
  ByteReader reader_;
  std::uint64_t left_;
  std::string term_;
};

template <class Pass>
std::optional<ByteView> DictionaryBlock::find(std::string_view term, Pass&& pass) {
  std::size_t matched = 0, size = 0;  // of the previous, lesser entry: bytes shared with `term`, and all bytes
  for (; left_ > 0; --left_) {
    const std::uint64_t shared = reader_.varint();
    if (shared > size) reader_.fail("a term shares more bytes than its predecessor has");
    const std::string_view rest = reader_.string();
    size = shared + rest.size();
    const ByteView payload = reader_.take(reader_.varint());
    if (shared < matched) return std::nullopt;
    if (shared == matched) {
      const std::string_view wanted = term.substr(matched);
      std::size_t same = 0;
      while (same < rest.size() && same < wanted.size() && rest[same] == wanted[same]) ++same;
      if (same == rest.size() && same == wanted.size()) return payload;
      const bool greater =
          same < rest.size() &&
          (same == wanted.size() || static_cast<unsigned char>(rest[same]) > static_cast<unsigned char>(wanted[same]));
      if (greater) return std::nullopt;
      matched += same;
    }
    pass(payload);
  }
  return std::nullopt;
}

/// A mapped dictionary with look-ups by term and by number. Checks bytes against their checksums before reading them.
class TermDictionary {
 public:
  TermDictionary() = default;
  /// Reads the sections `name` and `name`_blocks of the container.
  TermDictionary(const ContainerReader& container, std::string_view name, std::uint64_t num_terms);

  std::uint64_t size() const { return size_; }
  std::uint64_t num_blocks() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  DictionaryBlock block(std::uint64_t i) const;
  /// The only block that may contain `term`; nullopt if it is less than all terms.
  std::optional<std::uint64_t> block_of(std::string_view term) const;
  const std::string& what() const { return what_; }

 private:
  ByteView block_bytes(std::uint64_t i) const;
  std::string_view first_term(std::uint64_t i) const;
  void make_guides();

  CheckedSection bytes_;
  std::span<const std::uint64_t> offsets_;
  std::vector<std::uint64_t> guides_;  ///< leading bytes of the first term of every guide_stride_-th block
  std::uint64_t guide_stride_ = 1;
  std::uint64_t size_ = 0;
  std::string what_;
};

/// Reads a whole dictionary in order, piece by piece, without mapping it.
class DictionaryScan {
 public:
  static constexpr std::uint64_t default_blocks_at_once = 512;
  /// Reads `blocks_at_once` blocks at a time.
  DictionaryScan(const ContainerReader& container, std::string_view name, std::uint64_t num_terms,
                 std::uint64_t blocks_at_once = default_blocks_at_once);
  /// Moves to the next entry; false at the end. The views are valid until the next call.
  bool next(DictionaryEntry& entry);
  std::uint64_t size() const { return size_; }
  const std::string& what() const { return what_; }
  /// After next(): a later term up to which all terms are in memory, or nullopt if all remaining ones are. Only for
  /// scans of at least min_blocks_with_bound at once. The view is valid until the next call of next().
  std::optional<std::string_view> bound() const;
  static constexpr std::uint64_t min_blocks_with_bound = 4;

 private:
  /// Reads more blocks after those in memory that weren't returned yet.
  void read_piece();
  std::uint64_t blocks_left() const { return piece_offsets_.empty() ? 0 : piece_offsets_.size() - 1 - in_piece_; }
  /// The i-th block in memory.
  ByteView piece_block(std::size_t i) const;

  const ContainerReader& container_;
  const SectionInfo& bytes_;
  const SectionInfo& offsets_;
  std::uint64_t size_;
  std::string what_;
  std::uint64_t num_blocks_;
  std::uint64_t blocks_at_once_;
  std::uint64_t next_block_ = 0;              ///< first block not yet read
  std::vector<std::uint64_t> piece_offsets_;  ///< of the blocks in memory
  std::size_t in_piece_ = 0;                  ///< the next block in memory
  Bytes piece_;
  std::optional<DictionaryBlock> block_;
};

/// A term's counts in titles and bodies: the payload of lexicons and statistics, two varints.
struct TermCounts {
  std::uint64_t df = 0;  ///< documents that contain it
  std::uint64_t cf = 0;  ///< occurrences, or the sum of its weights

  bool operator==(const TermCounts&) const = default;
  TermCounts& operator+=(const TermCounts& other) {
    df += other.df;
    cf += other.cf;
    return *this;
  }
  void put(Bytes& payload) const {
    put_varint(payload, df);
    put_varint(payload, cf);
  }
  /// Throws CorruptFile, with `what`.
  static TermCounts parse(ByteView payload, std::string_view what) {
    ByteReader reader(payload, what);
    TermCounts counts;
    counts.df = reader.varint();
    counts.cf = reader.varint();
    if (!reader.done()) reader.fail("a term has trailing bytes after its counts");
    return counts;
  }
};

}  // namespace quern
