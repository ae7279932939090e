#pragma once
#include "quern/io/spool.hpp"

namespace quern {

/// Sorts docIDs by (docno hash, docID), on disk if they exceed the memory. Much faster than ExternalSort, since its
/// keys are numbers.
class DocnoOrder {
 public:
  /// Uses several threads, and at least 1 MiB of memory.
  DocnoOrder(const std::string& tmp_folder, std::uint64_t memory_bytes);

  void add(std::uint64_t hash, docid_t docid);
  /// Calls visit(docIDs) for consecutive pieces of the order. Call once.
  void merge(const std::function<void(std::span<const docid_t>)>& visit);

 private:
  struct Row {
    std::uint32_t high, low;  ///< halves of the hash, so that rows take 12 bytes
    docid_t docid;

    std::uint64_t hash() const { return std::uint64_t{high} << 32 | low; }
    bool operator<(const Row& other) const {
      return hash() != other.hash() ? hash() < other.hash() : docid < other.docid;
    }
  };
  void sort_rows();
  void spill();
  template <class Visit>
  static void merge_runs(const Spool& spool, std::span<const SpooledRuns::Run> runs, Visit&& visit);

  std::uint64_t memory_bytes_;
  std::vector<Row> rows_;
  SpooledRuns runs_;
};

}  // namespace quern
