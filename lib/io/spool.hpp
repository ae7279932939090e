#pragma once
#include <type_traits>

#include "quern/io/file.hpp"

/// Data that waits on disk between two steps of a stage.
namespace quern {

/// Bytes that are appended once and read back later, sequentially or at any offset. A full buffer goes to an unnamed
/// work file, created on the first overflow. Throws IoError if the work file can't be created, written or read. Several
/// threads may read while none appends.
class Spool {
 public:
  static constexpr std::size_t default_buffer_bytes = 256 << 10;

  explicit Spool(std::string tmp_folder, std::size_t buffer_bytes = default_buffer_bytes);

  void append(ByteView bytes);
  /// Appends trivially copyable values in the machine's byte order.
  template <class Value, std::size_t n>
  void append_array(std::span<Value, n> values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    append({reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
  }
  std::uint64_t size() const { return spilled_ + buffer_.size(); }

  /// Fills `to` from `offset` on. Throws CorruptFile past the end.
  void read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;
  template <class Value>
  void read_array(std::uint64_t offset, std::span<Value> to) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    read_at(offset, {reinterpret_cast<std::uint8_t*>(to.data()), to.size_bytes()});
  }
  /// Calls visit(ByteView) for consecutive pieces of all bytes.
  template <class Visit>
  void for_each_piece(Visit&& visit) const {
    Bytes piece;
    for (std::uint64_t at = 0; at < spilled_; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(default_buffer_bytes, spilled_ - at));
      file_->read_at(at, piece);
      visit(ByteView(piece));
    }
    if (!buffer_.empty()) visit(ByteView(buffer_));
  }
  /// Appends all bytes to `out`, and empties the spool.
  void move_to(FileAppender& out);
  /// Empties the spool; keeps the buffer and the work file for reuse.
  void clear();

 private:
  void spill();

  std::string tmp_folder_;
  std::size_t buffer_bytes_;
  Bytes buffer_;
  std::optional<File> file_;
  std::uint64_t spilled_ = 0;  ///< bytes in the file, before those in buffer_
};

/// Reads a range of a spool sequentially through a buffer. The spool must outlive the reader and not change.
class SpoolReader {
 public:
  static constexpr std::size_t default_buffer_bytes = 64 << 10;

  SpoolReader(const Spool& spool, std::uint64_t begin, std::uint64_t end,
              std::size_t buffer_bytes = default_buffer_bytes);

  /// Makes the next `bytes` bytes contiguous at data(). False if fewer are left; data() then holds all of them.
  bool have(std::size_t bytes) { return buffer_.size() - at_ >= bytes || fill(bytes); }
  const std::uint8_t* data() const { return buffer_.data() + at_; }
  /// Consumes bytes that have() has made available.
  void skip(std::size_t bytes) { at_ += bytes; }
  /// The next byte. Throws CorruptFile past the end.
  std::uint8_t byte() {
    if (at_ == buffer_.size()) fill_more();
    return buffer_[at_++];
  }
  /// The next number, as put_varint() writes it.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t bits = byte();
      value |= (bits & 0x7f) << shift;
      if (bits < 0x80) return value;
    }
  }
  /// Sets `text` to the next string, as put_string() writes it. Throws CorruptFile past the end.
  void string(std::string& text);

 private:
  bool fill(std::size_t bytes);
  void fill_more();
  [[noreturn]] void fail_at_end() const;

  const Spool* spool_;
  std::uint64_t offset_;  ///< of the first byte after the buffer's
  std::uint64_t end_;
  std::size_t buffer_bytes_;
  Bytes buffer_;
  std::size_t at_ = 0;
};

/// A spool of records of one trivially copyable type.
template <class Record>
class RecordSpool {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  explicit RecordSpool(std::string tmp_folder) : bytes_(std::move(tmp_folder)) {}

  void add(const Record& record) { bytes_.append_array(std::span<const Record, 1>(&record, 1)); }
  void add_all(std::span<const Record> records) { bytes_.append_array(records); }
  std::uint64_t count() const { return bytes_.size() / sizeof(Record); }
  /// Empties the spool; see Spool::clear().
  void clear() { bytes_.clear(); }
  /// The bytes of all records.
  const Spool& bytes() const { return bytes_; }
  /// Fills `to` with the records from number `first` on.
  void read(std::uint64_t first, std::span<Record> to) const { bytes_.read_array(first * sizeof(Record), to); }

  /// Reads all records, or a range of them, in the order of appending. The spool must outlive the reader and not
  /// change.
  class Reader {
   public:
    explicit Reader(const RecordSpool& spool) : Reader(spool, 0, spool.count()) {}
    Reader(const RecordSpool& spool, std::uint64_t begin, std::uint64_t end)
        : spool_(&spool), next_(begin), end_(end) {}
    /// The current record; null after the last one.
    const Record* peek() {
      if (at_ < records_.size()) [[likely]]
        return &records_[at_];
      return read() ? &records_[at_] : nullptr;
    }
    /// Advances to the next record; there must be a current one.
    void pop() { ++at_; }

   private:
    bool read() {
      constexpr std::uint64_t records_per_read =
          std::max<std::uint64_t>(1, Spool::default_buffer_bytes / sizeof(Record));
      if (next_ == end_) return false;
      records_.resize(std::min(records_per_read, end_ - next_));
      spool_->read(next_, records_);
      next_ += records_.size();
      at_ = 0;
      return true;
    }

    const RecordSpool* spool_;
    std::uint64_t next_, end_;  ///< unread records
    std::vector<Record> records_;
    std::size_t at_ = 0;
  };

  /// Calls visit(record) for all records in the order of appending.
  template <class Visit>
  void for_each(Visit&& visit) const {
    Reader reader(*this);
    for (; const Record* record = reader.peek(); reader.pop()) visit(*record);
  }

 private:
  Spool bytes_;
};

/// A spool of sorted runs, the input of external merges.
struct SpooledRuns {
  struct Run {
    std::uint64_t begin, end;  ///< bytes in the spool
  };

  explicit SpooledRuns(const std::string& folder) : tmp_folder(folder), bytes(folder) {}

  /// Ends a run, which begins at the end of the previous one.
  void end_run() { runs.push_back({runs.empty() ? 0 : runs.back().end, bytes.size()}); }

  /// Merges groups of `fan_in` consecutive runs until at most `fan_in` runs are left. merge_group(from, group, to)
  /// appends the merged runs of `group`, in the spool `from`, to the spool `to`.
  template <class MergeGroup>
  void merge_down_to(std::size_t fan_in, MergeGroup&& merge_group) {
    while (runs.size() > fan_in) {
      SpooledRuns merged(tmp_folder);
      for (std::size_t from = 0; from < runs.size(); from += fan_in) {
        merge_group(bytes, std::span(runs).subspan(from, std::min(fan_in, runs.size() - from)), merged.bytes);
        merged.end_run();
      }
      *this = std::move(merged);
    }
  }

  std::string tmp_folder;
  Spool bytes;
  std::vector<Run> runs;
};

}  // namespace quern
