#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

namespace quern {

/// Finds where the records of one file begin and end, in a window over the file that grows at its back and shrinks at
/// its front. Made for one file, called from front to back. It never reads a byte twice, except for short
/// look-aheads and a WARC record whose length is wrong, so a file takes linear time; and it never asks for more than
/// the largest record allowed, so memory is bounded: a larger record is skipped without being held.
class RecordFinder {
 public:
  explicit RecordFinder(std::uint64_t max_record_bytes) : max_record_bytes_(max_record_bytes) {}
  virtual ~RecordFinder() = default;

  struct Found {
    enum Kind {
      record,     ///< window[begin, begin + size) is a record
      bad,        ///< something that can't be read: see offset and reason
      need_more,  ///< call again with more bytes at the window's back
      end         ///< no more records: only where `last` was set
    } kind = need_more;
    std::size_t begin = 0;
    std::size_t size = 0;
    /// Bytes at the window's front that are done with: the next call's window begins after them.
    std::size_t consumed = 0;
    /// Of a bad one: its place in the file, and why.
    std::uint64_t offset = 0;
    const char* reason = nullptr;
  };

  /// Searches on. `window` holds the file's bytes from where the last call's `consumed` left off, `window_offset` is
  /// their place in the file, `last` says that nothing follows them.
  Found next(std::string_view window, std::uint64_t window_offset, bool last);

 protected:
  /// One step of a format's search.
  struct Step {
    enum Event {
      ran_out,  ///< nothing (more) before the window's end; go on from `at` when there is more
      begins,   ///< a record begins at `at`; its search goes on at `resume`
      ends,     ///< the record ends before `at`
      junk      ///< at `at` is something that belongs to no record; goes on at `resume`
    } event;
    std::size_t at = 0;
    std::size_t resume = 0;
    const char* reason = nullptr;
  };

  /// Searches from window[from] for the next begin, end or junk. The byte before `from` is there too (unless the file
  /// begins there); in a record that is not skipped, all from record_begin() on. With `last`, ran_out means that
  /// the file ends, and with it a record that is open.
  virtual Step scan(std::string_view window, std::size_t from, bool last) = 0;

  bool in_record() const { return in_record_; }
  /// Where the open record begins in the window. Not known while a record is skipped: don't use it then.
  std::size_t record_begin() const { return begin_; }
  bool skipping() const { return skipping_; }
  std::uint64_t max_record_bytes() const { return max_record_bytes_; }
  /// No scan may look further ahead than this before it decides.
  static constexpr std::size_t max_look_ahead_bytes = 128;

 private:
  Found finish(std::size_t end);
  Found wait(std::size_t window_size);

  std::uint64_t max_record_bytes_;
  bool in_record_ = false;
  bool skipping_ = false;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::uint64_t record_offset_ = 0;
};

/// Cuts TRECTEXT and TRECWEB files into records, <DOC> to </DOC>, in any case; trectext.md has the rules.
std::unique_ptr<RecordFinder> make_trec_record_finder(std::uint64_t max_record_bytes);

/// Whether a file that begins with `head` begins with a TREC record, after white space, a byte order mark, comments,
/// declarations and the start tags of enclosing elements.
bool begins_with_trec_record(std::string_view head);

}  // namespace quern
