#pragma once
#include <vector>

#include "quern/query/list_window.hpp"
#include "quern/query/top_k.hpp"

namespace quern {

/// The scores of one window's documents, with a mark that is less than all scores where none of the lists added so far
/// has the document.
class WindowScores {
 public:
  WindowScores(const Windows& windows, float nothing) : nothing_(nothing), scores_(windows.size(), nothing) {}

  float* data() { return scores_.data(); }
  /// Replaces `found` by the documents of the window [begin, end) with a score above `least` (at least the mark),
  /// in docID order, and sets all scores to the mark.
  void take_above(float least, docid_t begin, docid_t end, std::vector<ScoredDocument>& found);

 private:
  float nothing_;
  std::vector<float> scores_;
};

}  // namespace quern
