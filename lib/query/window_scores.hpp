#pragma once
#include <vector>

#include "quern/query/list_window.hpp"
#include "quern/query/top_k.hpp"

namespace quern {

/// The scores of one window's documents: 0 where none of the lists added so far has the document.
class WindowScores {
 public:
  WindowScores() : scores_(window_documents) {}

  float* data() { return scores_.data(); }
  /// Replaces `found` by the documents of the window [begin, end) with a score above `least` (at least 0), in docID
  /// order, and sets all scores to 0.
  void take_above(float least, docid_t begin, docid_t end, std::vector<ScoredDocument>& found);

 private:
  std::vector<float> scores_;
};

}  // namespace quern
