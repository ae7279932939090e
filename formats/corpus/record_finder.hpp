#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quern/formats/corpus/record_text.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// How large records may be.
struct RecordLimits {
  /// Larger ones are skipped.
  std::uint64_t max_record_bytes = std::uint64_t{64} << 20;
  /// Larger ones are handed out in parts. Where records end doesn't depend on it.
  std::size_t max_in_memory = RecordText::max_in_memory;
};

/// The bytes of a file that lie behind a window over it.
class LookAhead {
 public:
  virtual ~LookAhead() = default;
  /// `size` bytes of the file from `offset` on, which is not before the window's begin; fewer where the file ends.
  virtual std::string peek(std::uint64_t offset, std::size_t size) = 0;
};

/// Finds where the records of one file begin and end, in a window over the file that grows at its back and shrinks at
/// its front. Made for one file, called from front to back. It never reads a byte twice, except for short
/// look-aheads and a WARC record whose length is wrong, so a file takes linear time; and its window stays small
/// whatever the records: of a larger one, what has been searched is handed out in parts, and one beyond the limit is
/// skipped without being held.
class RecordFinder {
 public:
  explicit RecordFinder(const RecordLimits& limits) : limits_(limits) {}
  virtual ~RecordFinder() = default;

  struct Found {
    enum Kind {
      record,     ///< [begin, begin + size), with the parts that came before, is a record; may end behind the window
      part,       ///< window[begin, begin + size) is a part of a large record, to be kept: call again
      bad,        ///< something that can't be read: see offset and reason
      need_more,  ///< call again with more bytes at the window's back
      too_large,  ///< forget the parts that came of this record; then as need_more
      end         ///< no more records: only where `last` was set
    } kind = need_more;
    std::size_t begin = 0;
    std::uint64_t size = 0;
    /// Bytes that are done with: the next call's window begins after them. More than the window has only after a
    /// record that ends behind it.
    std::uint64_t consumed = 0;
    /// Of a bad one: its place in the file, and why.
    std::uint64_t offset = 0;
    const char* reason = nullptr;
  };

  /// Searches on. `window` holds the file's bytes from where the last call's `consumed` left off, `window_offset` is
  /// their place in the file, `last` says that nothing follows them. `ahead` shows what follows the window.
  Found next(std::string_view window, std::uint64_t window_offset, bool last, LookAhead& ahead);

 protected:
  /// One step of a format's search.
  struct Step {
    enum Event {
      ran_out,  ///< nothing (more) before the window's end; go on from `at` when there is more
      begins,   ///< a record begins at `at`; its search goes on at `resume`
      ends,     ///< the record ends before `at`, which is not before where the scan began
      junk      ///< at `at` is something that belongs to no record; goes on at `resume`
    } event;
    std::uint64_t at = 0;
    std::size_t resume = 0;
    const char* reason = nullptr;
  };

  /// Searches from window[from] for the next begin, end or junk. The byte before `from` is there too (unless the file
  /// begins there). With `last`, ran_out means that the file ends, and with it a record that is open. Only the end of
  /// a record may lie behind the window.
  virtual Step scan(std::string_view window, std::size_t from, bool last) = 0;

  bool in_record() const { return in_record_; }
  /// How many bytes of the open record lie before a place in the window.
  std::uint64_t record_bytes_before(std::size_t at) const { return window_offset_ + at - record_offset_; }
  /// Where a place of the open record lies: bytes from the window's begin. The place must not lie before it.
  std::uint64_t window_place(std::uint64_t record_bytes) const {
    return record_offset_ + record_bytes - window_offset_;
  }
  /// Up to `size` bytes from a place on that may lie behind the window.
  std::string peek(std::uint64_t at, std::size_t size) const { return ahead_->peek(window_offset_ + at, size); }
  const RecordLimits& limits() const { return limits_; }
  /// No scan may look further ahead than this before it decides.
  static constexpr std::size_t max_look_ahead_bytes = 128;

 private:
  Found finish(std::uint64_t end);
  Found wait(std::size_t window_size);

  RecordLimits limits_;
  LookAhead* ahead_ = nullptr;
  std::uint64_t window_offset_ = 0;
  bool in_record_ = false;
  bool skipping_ = false;            ///< the open record is too large: its bytes are dropped
  std::size_t begin_ = 0;            ///< of the open record in the window, behind the parts handed out
  std::size_t scanned_ = 0;          ///< where the scan goes on in the window
  std::uint64_t record_offset_ = 0;  ///< of the open record in the file
};

/// Cuts TRECTEXT and TRECWEB files into records, <DOC> to </DOC>, in any case; trectext.md has the rules.
std::unique_ptr<RecordFinder> make_trec_record_finder(const RecordLimits& limits);

/// Cuts WARC files; warc.md has the rules.
std::unique_ptr<RecordFinder> make_warc_record_finder(const RecordLimits& limits);

/// Cuts files of JSON objects; jsonl.md has the rules.
std::unique_ptr<RecordFinder> make_json_record_finder(const RecordLimits& limits);

/// Whether a file that begins with `head` begins with a TREC record, after white space, a byte order mark, comments,
/// declarations and the start tags of enclosing elements.
bool begins_with_trec_record(std::string_view head);

/// What a record's headers say of it, for those who choose among records before they are parsed. Names are hashed; a
/// hash of zeros stands for none.
struct RecordLabels {
  bool may_be_document = true;  ///< unless it can't be read as one, it is one
  std::string language;         ///< ISO 639-3: that of the record, or of the one that it describes; empty: not said
  Hash128 payload;              ///< the digest of its content without headers
  Hash128 id;                   ///< its own
  Hash128 describes;            ///< the record that its language is of; none: this one
};

}  // namespace quern
