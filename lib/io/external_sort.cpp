#include "quern/io/external_sort.hpp"

#include <tbb/parallel_sort.h>

#include <queue>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// With more, buffers would cost more than fewer passes save.
constexpr std::size_t max_fan_in = 256;

std::uint64_t prefix_of(std::string_view key) {
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), std::min<std::size_t>(key.size(), 8));
  return __builtin_bswap64(prefix);
}

/// A row: u32 key bytes, u32 payload bytes, key, payload.
constexpr std::size_t row_header_bytes = 8;

void put_row(Spool& out, std::string_view key, ByteView payload) {
  std::uint8_t header[row_header_bytes];
  store_le(header, static_cast<std::uint32_t>(key.size()));
  store_le(header + 4, static_cast<std::uint32_t>(payload.size()));
  out.append(header);
  out.append(as_bytes(key));
  out.append(payload);
}

std::string_view key_at(const std::uint8_t* row) {
  return {reinterpret_cast<const char*>(row + row_header_bytes), load_le<std::uint32_t>(row)};
}

ByteView payload_at(const std::uint8_t* row) {
  return {row + row_header_bytes + load_le<std::uint32_t>(row), load_le<std::uint32_t>(row + 4)};
}

}  // namespace

/// Reads a run, row by row.
class ExternalSort::RunReader {
 public:
  RunReader(const Spool& spool, const SpooledRuns::Run& run) : bytes_(spool, run.begin, run.end) {}

  bool next() {
    bytes_.skip(row_bytes_);
    row_bytes_ = 0;
    if (!bytes_.have(row_header_bytes)) return false;
    row_bytes_ = row_header_bytes + load_le<std::uint32_t>(bytes_.data()) + load_le<std::uint32_t>(bytes_.data() + 4);
    bytes_.have(row_bytes_);
    return true;
  }
  std::string_view key() const { return key_at(bytes_.data()); }
  ByteView payload() const { return payload_at(bytes_.data()); }

 private:
  SpoolReader bytes_;
  std::size_t row_bytes_ = 0;
};

/// Merges runs in the order in which they were written; rows with equal keys keep that order.
class ExternalSort::RunMerge {
 public:
  RunMerge(const Spool& spool, std::span<const SpooledRuns::Run> runs) : queue_(Later{&readers_}) {
    for (const SpooledRuns::Run& run : runs) readers_.emplace_back(spool, run);
    for (std::size_t i = 0; i < readers_.size(); ++i)
      if (readers_[i].next()) queue_.push(i);
  }
  RunMerge(const RunMerge&) = delete;
  RunMerge& operator=(const RunMerge&) = delete;

  bool next() {
    if (at_ != none && readers_[at_].next()) queue_.push(at_);
    at_ = none;
    if (queue_.empty()) return false;
    at_ = queue_.top();
    queue_.pop();
    return true;
  }
  std::string_view key() const { return readers_[at_].key(); }
  ByteView payload() const { return readers_[at_].payload(); }

 private:
  struct Later {
    const std::vector<RunReader>* readers;
    bool operator()(std::size_t a, std::size_t b) const {
      const int order = (*readers)[a].key().compare((*readers)[b].key());
      return order != 0 ? order > 0 : a > b;
    }
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::vector<RunReader> readers_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, Later> queue_;
  std::size_t at_ = none;  ///< the reader of next()'s row
};

ExternalSort::ExternalSort(const std::string& tmp_folder, std::uint64_t memory_bytes)
    : memory_bytes_(std::max<std::uint64_t>(memory_bytes, 1 << 20)), runs_(tmp_folder) {}
ExternalSort::ExternalSort(ExternalSort&&) noexcept = default;
ExternalSort::~ExternalSort() = default;

void ExternalSort::add(std::string_view key, ByteView payload) {
  // A growing buffer needs its old and its new memory at the same time: use half of the budget.
  if ((bytes_.size() + rows_.size() * sizeof(Row)) * 2 > memory_bytes_) spill();
  rows_.push_back({prefix_of(key), bytes_.size()});
  ++count_;
  put_le(bytes_, static_cast<std::uint32_t>(key.size()));
  put_le(bytes_, static_cast<std::uint32_t>(payload.size()));
  put_bytes(bytes_, key);
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

void ExternalSort::sort_rows() {
  tbb::parallel_sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const std::string_view a_key = key_at(bytes_.data() + a.offset), b_key = key_at(bytes_.data() + b.offset);
    if (a_key != b_key) return a_key < b_key;
    return a.offset < b.offset;
  });
}

void ExternalSort::spill() {
  if (rows_.empty()) return;
  sort_rows();
  for (const Row& row : rows_) {
    const std::uint8_t* at = bytes_.data() + row.offset;
    put_row(runs_.bytes, key_at(at), payload_at(at));
  }
  runs_.end_run();
  bytes_.clear();
  rows_.clear();
}

/// Starts a merge of the runs, or of the rows in memory if there are no runs.
void ExternalSort::begin_merge() {
  next_row_ = 0;
  if (runs_.runs.empty()) {
    sort_rows();
    return;
  }
  spill();
  bytes_ = {};
  rows_ = {};
  runs_.merge_down_to(max_fan_in, [](const Spool& from, std::span<const SpooledRuns::Run> group, Spool& to) {
    for (RunMerge merge(from, group); merge.next();) put_row(to, merge.key(), merge.payload());
  });
  merge_ = std::make_unique<RunMerge>(runs_.bytes, runs_.runs);
}

bool ExternalSort::next_row() {
  const bool found = merge_ ? merge_->next() : next_row_ < rows_.size();
  if (found) {
    ++next_row_;
    return true;
  }
  merge_.reset();
  bytes_ = {};
  rows_ = {};
  if (!runs_.runs.empty()) runs_ = SpooledRuns(runs_.tmp_folder);
  return false;
}

std::string_view ExternalSort::key() const {
  return merge_ ? merge_->key() : key_at(bytes_.data() + rows_[next_row_ - 1].offset);
}

ByteView ExternalSort::payload() const {
  return merge_ ? merge_->payload() : payload_at(bytes_.data() + rows_[next_row_ - 1].offset);
}

void ExternalSort::merge(const std::function<void(std::string_view, ByteView)>& visit) {
  begin_merge();
  while (next_row()) visit(key(), payload());
}

}  // namespace quern
