#include "quern/io/external_sort.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <queue>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

constexpr std::size_t scan_buffer_bytes = 64 << 10;
/// Merging more runs at once would cost more in buffers than it saves in passes.
constexpr std::size_t max_fan_in = 256;

std::uint64_t prefix_of(std::string_view key) {
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), std::min<std::size_t>(key.size(), 8));
  return __builtin_bswap64(prefix);
}

/// A row is: u32 bytes of the key, u32 bytes of the payload, key, payload.
constexpr std::size_t row_header_bytes = 8;

void put_row(FileAppender& out, std::string_view key, ByteView payload) {
  std::uint8_t header[row_header_bytes];
  store_le(header, static_cast<std::uint32_t>(key.size()));
  store_le(header + 4, static_cast<std::uint32_t>(payload.size()));
  out.write(header);
  out.write(as_bytes(key));
  out.write(payload);
}

std::string_view key_at(const std::uint8_t* row) {
  return {reinterpret_cast<const char*>(row + row_header_bytes), load_le<std::uint32_t>(row)};
}

ByteView payload_at(const std::uint8_t* row) {
  return {row + row_header_bytes + load_le<std::uint32_t>(row), load_le<std::uint32_t>(row + 4)};
}

}  // namespace

/// Reads a run back, row after row.
class ExternalSort::RunScan {
 public:
  RunScan(const File& file, const Run& run) : file_(&file), offset_(run.begin), end_(run.end) {}

  bool next() {
    at_ += row_bytes_;
    row_bytes_ = 0;
    if (!have(row_header_bytes)) return false;
    row_bytes_ = row_header_bytes + load_le<std::uint32_t>(row()) + load_le<std::uint32_t>(row() + 4);
    have(row_bytes_);
    return true;
  }
  std::string_view key() const { return key_at(row()); }
  ByteView payload() const { return payload_at(row()); }

 private:
  const std::uint8_t* row() const { return buffer_.data() + at_; }

  /// Makes sure that `bytes` from at_ on are in the buffer; false at the end of the run.
  bool have(std::size_t bytes) {
    if (buffer_.size() - at_ >= bytes) return true;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + std::min<std::uint64_t>(std::max(scan_buffer_bytes, bytes), end_ - offset_));
    file_->read_at(offset_, std::span(buffer_).subspan(kept));
    offset_ += buffer_.size() - kept;
    return buffer_.size() >= bytes;
  }

  const File* file_;
  std::uint64_t offset_;  ///< of the next byte to read
  std::uint64_t end_;
  Bytes buffer_;
  std::size_t at_ = 0;
  std::size_t row_bytes_ = 0;
};

ExternalSort::ExternalSort(std::string tmp_folder, std::uint64_t memory_bytes)
    : tmp_folder_(std::move(tmp_folder)), memory_bytes_(std::max<std::uint64_t>(memory_bytes, 1 << 20)) {}

void ExternalSort::add(std::string_view key, ByteView payload) {
  // Buffers double as they grow, so half of the budget is in use when the other half is their copy.
  if ((bytes_.size() + rows_.size() * sizeof(Row)) * 2 > memory_bytes_) spill();
  rows_.push_back({prefix_of(key), bytes_.size()});
  put_le(bytes_, static_cast<std::uint32_t>(key.size()));
  put_le(bytes_, static_cast<std::uint32_t>(payload.size()));
  put_bytes(bytes_, key);
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

void ExternalSort::spill() {
  if (rows_.empty()) return;
  tbb::parallel_sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const std::string_view a_key = key_at(bytes_.data() + a.offset), b_key = key_at(bytes_.data() + b.offset);
    if (a_key != b_key) return a_key < b_key;
    return a.offset < b.offset;
  });
  if (!file_) file_ = File::anonymous(tmp_folder_);
  const std::uint64_t begin = runs_.empty() ? 0 : runs_.back().end;
  FileAppender out(*file_, begin);
  for (const Row& row : rows_) {
    const std::uint8_t* at = bytes_.data() + row.offset;
    put_row(out, key_at(at), payload_at(at));
  }
  out.flush();
  runs_.push_back({begin, out.position()});
  bytes_.clear();
  rows_.clear();
}

/// Merges runs that stand in the order of their making; equal keys come in that order.
void ExternalSort::merge_runs(std::span<const Run> runs,
                              const std::function<void(std::string_view, ByteView)>& visit) const {
  std::vector<RunScan> scans;
  for (const Run& run : runs) scans.emplace_back(*file_, run);
  const auto later = [&](std::size_t a, std::size_t b) {
    const int order = scans[a].key().compare(scans[b].key());
    return order != 0 ? order > 0 : a > b;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> queue(later);
  for (std::size_t i = 0; i < scans.size(); ++i)
    if (scans[i].next()) queue.push(i);
  while (!queue.empty()) {
    const std::size_t i = queue.top();
    queue.pop();
    visit(scans[i].key(), scans[i].payload());
    if (scans[i].next()) queue.push(i);
  }
}

void ExternalSort::merge(const std::function<void(std::string_view, ByteView)>& visit) {
  spill();
  bytes_ = {};
  rows_ = {};
  while (runs_.size() > max_fan_in) {
    File file = File::anonymous(tmp_folder_);
    FileAppender out(file);
    std::vector<Run> merged;
    for (std::size_t from = 0; from < runs_.size(); from += max_fan_in) {
      const std::uint64_t begin = out.position();
      merge_runs(std::span(runs_).subspan(from, std::min(max_fan_in, runs_.size() - from)),
                 [&](std::string_view key, ByteView payload) { put_row(out, key, payload); });
      merged.push_back({begin, out.position()});
    }
    out.flush();
    file_ = std::move(file);
    runs_ = std::move(merged);
  }
  merge_runs(runs_, visit);
  runs_.clear();
  file_.reset();
}

}  // namespace quern
