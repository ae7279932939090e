#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "quern/io/file.hpp"

namespace quern {

/// Collects any number of small records on disk and hands them out in order, within a memory budget: the range of
/// their 64-bit `hash` is cut into as many parts as needed, and each part is picked out of the file and sorted.
/// Record: trivially copyable, with a member `std::uint64_t hash`, ordered by operator<, hash first.
template <class Record>
class SortedSpool {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  explicit SortedSpool(const std::string& tmp_folder) : file_(File::anonymous(tmp_folder)), out_(file_) {}

  void add(const Record& record) {
    out_.write({reinterpret_cast<const std::uint8_t*>(&record), sizeof record});
    ++count_;
  }
  std::uint64_t count() const { return count_; }

  /// Calls visit(std::span<const Record>) for consecutive sorted pieces; records with equal hashes share a piece.
  template <class Visit>
  void for_each_sorted(std::uint64_t memory_bytes, Visit&& visit) {
    out_.flush();
    const std::uint64_t parts = std::max<std::uint64_t>(
        1, count_ * sizeof(Record) * 5 / 4 / std::max<std::uint64_t>(memory_bytes, 1 << 20) + 1);
    // The last part ends at 2^64, so its bound is written as "all".
    const std::uint64_t width = parts == 1 ? 0 : UINT64_MAX / parts + 1;
    std::vector<Record> part;
    for (std::uint64_t i = 0; i < parts; ++i) {
      part.clear();
      const std::uint64_t from = i * width;
      const bool last = i + 1 == parts;
      scan([&](const Record& record) {
        if (record.hash >= from && (last || record.hash - from < width)) part.push_back(record);
      });
      std::sort(part.begin(), part.end());
      visit(std::span<const Record>(part));
    }
  }

 private:
  template <class Take>
  void scan(Take&& take) const {
    std::vector<Record> buffer(std::max<std::size_t>(1, (256 << 10) / sizeof(Record)));
    for (std::uint64_t done = 0; done < count_;) {
      const std::size_t some = std::min<std::uint64_t>(buffer.size(), count_ - done);
      file_.read_at(done * sizeof(Record), {reinterpret_cast<std::uint8_t*>(buffer.data()), some * sizeof(Record)});
      for (std::size_t i = 0; i < some; ++i) take(buffer[i]);
      done += some;
    }
  }

  File file_;
  FileAppender out_;
  std::uint64_t count_ = 0;
};

}  // namespace quern
