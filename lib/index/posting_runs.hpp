#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/collection/posting.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Some lists, in the order of their terms, to be encoded together: postings in memory, or one long list on disk.
struct ListBatch {
  std::span<const Posting> postings;
  std::vector<Posting> owned;  ///< what `postings` views, where it isn't the inverter's own array
  bool sorted = true;          ///< where not, `owned` is to be sorted before use: that is left to parallel hands
  /// A list too long for memory: u32 docIDs and frequencies in turn.
  std::shared_ptr<const File> long_list;
  std::uint64_t long_begin = 0;  ///< where it begins in the file
  term_t long_term = 0;
  std::uint64_t long_size = 0;
  /// Where set, it makes all of the above but the terms' order: that is left to parallel hands too.
  std::function<void(ListBatch&)> make;
};

/// Hands out an index's lists in the order of their terms.
class ListSource {
 public:
  virtual ~ListSource() = default;
  /// False at the end.
  virtual bool next(ListBatch& batch) = 0;
};

/// Takes postings as documents come, sorts them in memory, and spills sorted runs to disk where the budget is full.
class Inverter {
 public:
  Inverter(std::string tmp_folder, std::uint64_t memory_bytes, unsigned threads);
  ~Inverter();
  /// Postings of some documents, in any order. A document comes once.
  void add(std::span<const Posting> postings);
  /// Ends the input. The source lives as long as the inverter.
  std::unique_ptr<ListSource> finish();
  /// Runs spilled, before any merging.
  std::size_t num_runs() const { return num_runs_; }

 private:
  void spill();
  void merge_surplus_runs();

  std::string tmp_folder_;
  std::uint64_t memory_bytes_;
  std::size_t max_postings_;
  unsigned threads_;
  std::vector<Posting> postings_, scratch_;
  std::optional<File> file_;         ///< all runs, since processes may open only so many files
  std::vector<std::uint64_t> runs_;  ///< where each begins
  std::uint64_t runs_end_ = 0;
  std::size_t num_runs_ = 0;
};

}  // namespace quern
