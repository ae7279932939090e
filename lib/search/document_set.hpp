#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

/// A set of an index's documents, with a bit for each: those that pass a filter.
class DocumentSet {
 public:
  /// None of the documents 0 to num_documents - 1. Throws OutOfMemory.
  explicit DocumentSet(docid_t num_documents);

  /// What a set takes in memory.
  static std::uint64_t bytes(docid_t num_documents) { return (std::uint64_t{num_documents} + 63) / 64 * 8; }

  docid_t num_documents() const { return num_documents_; }
  /// Adds one of the documents.
  void add(docid_t docid) { words_[docid / 64] |= std::uint64_t{1} << docid % 64; }
  bool contains(docid_t docid) const { return (words_[docid / 64] >> docid % 64 & 1) != 0; }
  /// The number of documents in it.
  std::uint64_t count() const { return count(0, num_documents_); }
  /// The same of the documents [begin, end).
  std::uint64_t count(docid_t begin, docid_t end) const;
  /// The first of the documents [begin, end) that is in it; `end` if none is. `end` is num_documents() at most.
  docid_t next(docid_t begin, docid_t end) const;

  /// Keeps those that `other`, a set of the same documents, contains, too.
  void intersect(const DocumentSet& other);
  void unite(const DocumentSet& other);
  /// Replaces the set by all other documents.
  void complement();

  /// The bits: document d's is bit d % 64 of word d / 64. Those behind the last document are 0.
  std::span<const std::uint64_t> words() const { return words_; }

  bool operator==(const DocumentSet&) const = default;

 private:
  docid_t num_documents_;
  std::vector<std::uint64_t> words_;  ///< bits from num_documents_ on are 0
};

}  // namespace quern
