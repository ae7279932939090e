#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/index/list_source.hpp"

namespace quern {

/// Takes postings as documents come, sorts them in memory, and spills sorted runs to disk when the budget is full.
///
/// It shares the spool of runs with ExternalSort, and no more: postings are 12 bytes that a radix sort puts in order,
/// runs store a term once for all of its postings and docIDs as gaps, and a merge takes whole stretches of documents
/// from one run. Rows with keys would take several times the memory, disk and time.
class Inverter {
 public:
  Inverter(const std::string& tmp_folder, std::uint64_t memory_bytes, unsigned threads);
  /// Takes memory for so many postings at once, or what the budget has for them, instead of more and more as they come.
  void expect(std::uint64_t postings);
  /// Some postings, in any order. Each term and document is added once.
  void add(std::span<const Posting> postings);
  /// Ends the input. So many batches of the source may be in use at once. The inverter must outlive the source.
  std::unique_ptr<ListSource> finish(std::size_t batches_in_flight = 1);
  /// Runs that were spilled, before any merging.
  std::size_t num_runs() const { return num_runs_; }

 private:
  void spill();
  void merge_surplus_runs();

  std::uint64_t memory_bytes_;
  std::size_t max_postings_;
  unsigned threads_;
  std::vector<Posting> postings_, scratch_;
  SpooledRuns runs_;
  std::size_t num_runs_ = 0;
};

}  // namespace quern
