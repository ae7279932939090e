#include "quern/index/docno_order.hpp"

#include <tbb/parallel_sort.h>

#include <cstring>

namespace quern {
namespace {

constexpr std::size_t docids_per_visit = 4096;
constexpr std::uint64_t max_fan_in = 256;

}  // namespace

DocnoOrder::DocnoOrder(const std::string& tmp_folder, std::uint64_t memory_bytes)
    : memory_bytes_(std::max<std::uint64_t>(memory_bytes, 1 << 20)), runs_(tmp_folder) {}

void DocnoOrder::add(std::uint64_t hash, docid_t docid) {
  // A growing array doubles, so half of the budget must stay free for the copy.
  if (rows_.size() == rows_.capacity() && rows_.size() * sizeof(Row) * 3 > memory_bytes_) spill();
  rows_.push_back({static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(hash), docid});
}

void DocnoOrder::sort_rows() { tbb::parallel_sort(rows_.begin(), rows_.end()); }

void DocnoOrder::spill() {
  sort_rows();
  runs_.bytes.append_array(std::span<const Row>(rows_));
  runs_.end_run();
  rows_.clear();
}

template <class Visit>
void DocnoOrder::merge_runs(const Spool& spool, std::span<const SpooledRuns::Run> runs, Visit&& visit) {
  struct Head {
    Row row;
    std::size_t run;
  };
  std::vector<SpoolReader> readers;
  for (const SpooledRuns::Run& run : runs) readers.emplace_back(spool, run.begin, run.end);
  const auto read = [&](Head& head) {
    SpoolReader& reader = readers[head.run];
    if (!reader.have(sizeof(Row))) return false;
    std::memcpy(&head.row, reader.data(), sizeof(Row));
    reader.skip(sizeof(Row));
    return true;
  };
  const auto later = [](const Head& a, const Head& b) { return b.row < a.row; };
  std::vector<Head> heads;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Head head = {{}, run};
    if (read(head)) heads.push_back(head);
  }
  std::make_heap(heads.begin(), heads.end(), later);
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), later);
    visit(heads.back().row);
    if (read(heads.back()))
      std::push_heap(heads.begin(), heads.end(), later);
    else
      heads.pop_back();
  }
}

void DocnoOrder::merge(const std::function<void(std::span<const docid_t>)>& visit) {
  std::vector<docid_t> docids;
  const auto put = [&](const Row& row) {
    docids.push_back(row.docid);
    if (docids.size() < docids_per_visit) return;
    visit(docids);
    docids.clear();
  };
  if (runs_.runs.empty()) {
    sort_rows();
    for (const Row& row : rows_) put(row);
    rows_ = {};
  } else {
    spill();
    rows_ = {};
    const auto fan_in = std::clamp<std::uint64_t>(memory_bytes_ / SpoolReader::default_buffer_bytes, 2, max_fan_in);
    runs_.merge_down_to(fan_in, [](const Spool& from, std::span<const SpooledRuns::Run> group, Spool& to) {
      merge_runs(from, group, [&](const Row& row) { to.append_array(std::span<const Row, 1>(&row, 1)); });
    });
    merge_runs(runs_.bytes, runs_.runs, put);
    runs_ = SpooledRuns(runs_.tmp_folder);
  }
  visit(docids);
}

}  // namespace quern
