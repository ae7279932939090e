#pragma once
#include "quern/index/list_source.hpp"

namespace quern {

/// Collects postings in document order, sorts them in memory, and spills sorted runs to disk when the budget is full.
///
/// It shares only the spool of runs with ExternalSort: postings are 12 bytes for a radix sort, runs store each term
/// once and docIDs as gaps, and a merge takes long ranges of documents from one run. Rows with keys would need several
/// times the memory, disk and time.
class Inverter {
 public:
  Inverter(const std::string& tmp_folder, std::uint64_t memory_bytes, unsigned threads);
  /// Reserves memory for this many postings, within the budget, instead of growing step by step.
  void expect(std::uint64_t postings);
  /// Adds postings in any order. Each pair of term and document must be unique.
  void add(std::span<const Posting> postings);
  /// Ends the input. At most `batches_in_flight` batches of the source may be in use at a time. The inverter must
  /// outlive the source.
  std::unique_ptr<ListSource> finish(std::size_t batches_in_flight = 1);
  /// Number of spilled runs before merging.
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
