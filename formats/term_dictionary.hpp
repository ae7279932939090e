#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/container.hpp"
#include "quern/io/spool.hpp"

/// Terms in byte order, front-coded in blocks, each with a payload of its owner's. See term_dictionary.md.
namespace quern {

inline constexpr std::uint32_t terms_per_block = 32;

/// The first eight bytes of a term as a number that compares as they do; zeros where there are fewer.
std::uint64_t leading_bytes(std::string_view term);

/// Writes the bytes of a dictionary to `sink` as terms come, in byte order; block offsets wait in a spool.
class DictionaryWriter {
 public:
  using Sink = std::function<void(ByteView)>;
  DictionaryWriter(Sink sink, const std::string& tmp_folder) : sink_(std::move(sink)), offsets_(tmp_folder) {}

  /// True if the next term opens a block: its payload then begins with what the owner stores once per block.
  bool at_block_start() const { return count_ % terms_per_block == 0; }
  /// Throws Error unless `term` is greater than the one before.
  void add(std::string_view term, ByteView payload);
  std::uint64_t size() const { return count_; }
  /// Sends what is buffered and returns the byte offset of each block, and of the end: 64-bit numbers.
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

/// One term of a block and its payload; views that the next step of the cursor ends.
struct DictionaryEntry {
  std::string_view term;
  ByteView payload;
};

/// Goes over the `num_terms` terms of one block. Bytes are not trusted: CorruptFile with `what`.
class DictionaryBlock {
 public:
  DictionaryBlock(ByteView block, std::uint64_t num_terms, std::string_view what)
      : reader_(block, what), left_(num_terms) {}
  bool next(DictionaryEntry& entry);
  /// The payload of `term`, or nothing; pass(payload) sees those of the terms before it. For a block from its front.
  /// Terms are not decoded: the prefix that each shares with the one before decides how it compares.
  template <class Pass>
  std::optional<ByteView> find(std::string_view term, Pass&& pass);

 private:
  ByteReader reader_;
  std::uint64_t left_;
  std::string term_;
};

template <class Pass>
std::optional<ByteView> DictionaryBlock::find(std::string_view term, Pass&& pass) {
  std::size_t matched = 0, size = 0;  // of the entry before, which is less: the bytes it shares with `term`, and all
  for (; left_ > 0; --left_) {
    const std::uint64_t shared = reader_.varint();
    if (shared > size) reader_.fail("a term shares more than its predecessor has");
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

/// A dictionary in memory (mapped): look-up by term and by number. Bytes are compared with their checksums before they
/// are read.
class TermDictionary {
 public:
  TermDictionary() = default;
  /// Sections `name` and `name`_blocks of the container.
  TermDictionary(const ContainerReader& container, std::string_view name, std::uint64_t num_terms);

  std::uint64_t size() const { return size_; }
  std::uint64_t num_blocks() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  DictionaryBlock block(std::uint64_t i) const;
  /// The block that has `term` if any has; nothing if it is less than all terms.
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

/// Reads a whole dictionary in order, a piece at a time; nothing is mapped.
class DictionaryScan {
 public:
  static constexpr std::uint64_t default_blocks_at_once = 512;
  /// Reads so many blocks at once.
  DictionaryScan(const ContainerReader& container, std::string_view name, std::uint64_t num_terms,
                 std::uint64_t blocks_at_once = default_blocks_at_once);
  /// False at the end. The views are valid until the next call.
  bool next(DictionaryEntry& entry);
  std::uint64_t size() const { return size_; }
  const std::string& what() const { return what_; }
  /// Once next() was called: a term after the one at hand up to which all are in memory, or nothing if the whole rest
  /// is. Only for scans of at least min_blocks_with_bound at once. The view is valid until the next call of next().
  std::optional<std::string_view> bound() const;
  static constexpr std::uint64_t min_blocks_with_bound = 4;

 private:
  /// Reads blocks after those that are in memory and still to be handed out.
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
  std::size_t in_piece_ = 0;                  ///< the next of them
  Bytes piece_;
  std::optional<DictionaryBlock> block_;
};

/// How often a term occurs, in title and body: the payload of lexicons and statistics, two varints.
struct TermCounts {
  std::uint64_t df = 0;  ///< documents that have it
  std::uint64_t cf = 0;  ///< occurrences in them, or the sum of its weights

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
    if (!reader.done()) reader.fail("a term has bytes after its counts");
    return counts;
  }
};

}  // namespace quern
