#pragma once
#include "quern/core/scratch_memory.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/kernels.hpp"
#include "quern/search/top_k.hpp"

namespace quern {

/// Moves those of n documents that are in `set`, with their scores, to the front; returns their number.
inline std::size_t keep_documents(const DocumentSet& set, docid_t* docids, float* scores, std::size_t n) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const docid_t docid = docids[i];
    docids[kept] = docid;
    scores[kept] = scores[i];
    kept += set.contains(docid);
  }
  return kept;
}

/// Documents that may become results, in docID order, with the sums of their term scores so far.
class Candidates {
 public:
  /// `room`: maximum number of documents.
  explicit Candidates(std::size_t room) : docids_(room + kernel_slack), scores_(room + kernel_slack) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  docid_t* docids() { return docids_.get(); }
  float* scores() { return scores_.get(); }
  /// The arrays from document i on.
  ScoredArrays from(std::size_t i) { return {docids_.get() + i, scores_.get() + i}; }
  /// Sets the number of documents after writing them to the arrays.
  void resize(std::size_t size) { size_ = size; }
  /// Adds documents written behind the present ones.
  void grow(std::size_t written) { size_ += written; }
  /// Keeps the documents in `set`; all if it is null.
  void keep(const DocumentSet* set) {
    if (set) size_ = keep_documents(*set, docids(), scores(), size_);
  }

 private:
  ScratchArray<docid_t> docids_;
  ScratchArray<float> scores_;
  std::size_t size_ = 0;
};

/// Adds all candidates to the results.
inline void add_all(Candidates& documents, TopK& top) {
  top.add(documents.docids(), documents.scores(), documents.size());
}

}  // namespace quern
