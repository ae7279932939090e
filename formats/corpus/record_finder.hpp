#pragma once
#include <concepts>

#include "quern/io/checksum.hpp"
#include "quern/io/piece_source.hpp"

namespace quern {

/// The bytes of one record. A large record is spooled and read in pieces, so memory doesn't grow with it.
class RecordText {
 public:
  /// Larger records are spooled.
  static constexpr std::size_t max_in_memory = std::size_t{1} << 20;
  /// A spooled record's first bytes, kept in memory: they must hold all that precedes the text (docno, URL, headers).
  static constexpr std::size_t head_bytes = 256 << 10;

  /// A record in memory; `text` must outlive this.
  template <std::convertible_to<std::string_view> Text>
  RecordText(const Text& whole) : view_(whole), size_(view_.size()) {}
  /// A spooled record; the spool must outlive this and not change.
  explicit RecordText(const Spool& spool, std::size_t piece_bytes = default_piece_bytes);

  std::uint64_t size() const { return size_; }
  /// True if head() is the whole record.
  bool is_whole() const { return spool_ == nullptr; }
  /// The whole record, or its first head_bytes.
  std::string_view head() const { return spool_ == nullptr ? view_ : std::string_view(head_); }
  /// The bytes from `begin`, or up to `end`. The source must not outlive this.
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin = 0) const { return pieces(begin, size_); }
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin, std::uint64_t end) const;
  /// The end of [begin, end) without trailing white space.
  std::uint64_t trimmed_end(std::uint64_t begin, std::uint64_t end) const;
  /// Fills `to` with the bytes from `offset`, which must exist.
  void read_at(std::uint64_t offset, std::span<char> to) const;

 private:
  std::string_view view_;
  const Spool* spool_ = nullptr;
  std::size_t piece_bytes_ = 0;  ///< limit of a spooled piece
  std::string head_;
  std::uint64_t size_;
};

/// Size limits of records.
struct RecordLimits {
  /// Larger records are skipped.
  std::uint64_t max_record_bytes = std::uint64_t{64} << 20;
  /// Larger records are returned in parts. It doesn't affect where records end.
  std::size_t max_in_memory = RecordText::max_in_memory;
};

/// Access to a file's bytes after the window.
class LookAhead {
 public:
  virtual ~LookAhead() = default;
  /// Returns `size` bytes of the file from `offset`, fewer at the end of the file. `offset` must not precede the
  /// window.
  virtual std::string peek(std::uint64_t offset, std::size_t size) = 0;
};

/// Finds the records of one file in a window that grows at its back and shrinks at its front. Takes linear time: it
/// never reads a byte twice, except for short look-aheads and WARC records whose length is wrong. The window stays
/// small: a large record is returned in parts, and one beyond the limit is skipped.
class RecordFinder {
 public:
  explicit RecordFinder(const RecordLimits& limits) : limits_(limits) {}
  virtual ~RecordFinder() = default;

  struct Found {
    enum Kind {
      record,     ///< [begin, begin + size), after earlier parts, is a record; may end after the window
      part,       ///< window[begin, begin + size) is a part of a large record: keep it and call again
      bad,        ///< unreadable data: see offset and reason
      need_more,  ///< call again with a longer window
      too_large,  ///< discard this record's parts; then as need_more
      end         ///< no more records; only if `last` is set
    } kind = need_more;
    std::size_t begin = 0;
    std::uint64_t size = 0;
    /// Bytes that are no longer needed: the next call's window begins after them. Exceeds the window only after a
    /// record that ends behind it.
    std::uint64_t consumed = 0;
    /// For unreadable data: its offset in the file, and the reason.
    std::uint64_t offset = 0;
    const char* reason = nullptr;
    bool is_cut = false;  ///< the file ends within the record
  };

  /// Continues the search. `window` holds the file's bytes after those that the last call consumed, `window_offset` is
  /// their offset in the file, and `last` means that the file ends with them. `ahead` reads beyond the window.
  Found next(std::string_view window, std::uint64_t window_offset, bool last, LookAhead& ahead);

 protected:
  /// One step of a format's search.
  struct Step {
    enum Event {
      ran_out,  ///< nothing found; continue from `at` with a longer window
      begins,   ///< a record begins at `at`; continue at `resume`
      ends,     ///< the record ends before `at`, which doesn't precede `from`
      junk      ///< data outside records at `at`; continue at `resume`
    } event;
    std::uint64_t at = 0;
    std::size_t resume = 0;
    const char* reason = nullptr;
  };

  /// Searches from window[from] for the next begin, end or junk. The byte before `from` is in the window unless the
  /// file begins there. If `last`, ran_out means that the file and its open record end. Only a record's end may lie
  /// behind the window.
  virtual Step scan(std::string_view window, std::size_t from, bool last) = 0;

  /// Whether the end of a file is the proper end of a record.
  virtual bool ends_with_file() const { return false; }
  bool in_record() const { return in_record_; }
  /// Bytes of the open record before a position in the window.
  std::uint64_t record_bytes_before(std::size_t at) const { return window_offset_ + at - record_offset_; }
  /// Converts an offset in the open record to a position in the window. It must not precede the window.
  std::uint64_t window_place(std::uint64_t record_bytes) const {
    return record_offset_ + record_bytes - window_offset_;
  }
  /// Up to `size` bytes from position `at`, which may lie behind the window.
  std::string peek(std::uint64_t at, std::size_t size) const { return ahead_->peek(window_offset_ + at, size); }
  const RecordLimits& limits() const { return limits_; }
  /// Limit of a scan's look-ahead.
  static constexpr std::size_t max_look_ahead_bytes = 128;

 private:
  Found finish(std::uint64_t end, bool is_cut = false);
  Found wait(std::size_t window_size);

  RecordLimits limits_;
  LookAhead* ahead_ = nullptr;
  std::uint64_t window_offset_ = 0;
  bool in_record_ = false;
  bool skipping_ = false;            ///< the open record is too large: its bytes are dropped
  std::size_t begin_ = 0;            ///< of the open record in the window, after the parts returned
  std::size_t scanned_ = 0;          ///< where the scan continues in the window
  std::uint64_t record_offset_ = 0;  ///< of the open record in the file
};

/// CorpusFormat::make_finder for a class of finders.
template <class Finder>
std::unique_ptr<RecordFinder> make_record_finder(const RecordLimits& limits) {
  return std::make_unique<Finder>(limits);
}

/// Labels from a record's headers, for choosing records before parsing them. Names are hashed; a zero hash means none.
struct RecordLabels {
  bool may_be_document = true;  ///< it is a document unless parsing fails
  std::string language;         ///< ISO 639-3, of the record or the one that it describes; empty: unknown
  Hash128 payload;              ///< the digest of its content without headers
  Hash128 id;                   ///< its ID
  Hash128 describes;            ///< ID of the record that `language` belongs to; none: this one
};

}  // namespace quern
