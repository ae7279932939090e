#pragma once
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

/// A bitmap of an index's documents, such as those that pass a filter.
class DocumentSet {
 public:
  /// An empty subset of the documents 0 to num_documents - 1. Throws OutOfMemory.
  explicit DocumentSet(docid_t num_documents);

  /// Memory that a set takes.
  static std::uint64_t bytes(docid_t num_documents) { return (std::uint64_t{num_documents} + 63) / 64 * 8; }

  docid_t num_documents() const { return num_documents_; }
  void add(docid_t docid) { words_[docid / 64] |= std::uint64_t{1} << docid % 64; }
  bool contains(docid_t docid) const { return (words_[docid / 64] >> docid % 64 & 1) != 0; }
  /// The number of documents in the set.
  std::uint64_t count() const { return count(0, num_documents_); }
  /// The number of documents of the set in [begin, end).
  std::uint64_t count(docid_t begin, docid_t end) const;
  /// The first document of the set in [begin, end), or `end` if there is none; `end` <= num_documents().
  docid_t next(docid_t begin, docid_t end) const;

  /// Keeps the documents that are also in `other`, a set over the same documents.
  void intersect(const DocumentSet& other);
  void unite(const DocumentSet& other);

  /// The bits: document d's is bit d % 64 of word d / 64. Bits past the last document are 0.
  std::span<const std::uint64_t> words() const { return words_; }

  bool operator==(const DocumentSet&) const = default;

 private:
  docid_t num_documents_;
  std::vector<std::uint64_t> words_;  ///< bits from num_documents_ on are 0
};

// Filters: the documents of an index that may be results, by an expression over their fields or a list of docnos.

/// The documents that pass a filter, evaluated in parallel. `fields`: the kept fields of the index; null if it has
/// none. Throws InvalidArgument if the filter names an unknown field or the set does not fit the memory of `resources`.
DocumentSet evaluate_filter(const FilterExpression& filter, const IndexReader& index, const FieldsReader* fields,
                            const Resources& resources);

struct ListedDocuments {
  std::vector<DocumentSet> documents;  ///< of each shard
  std::uint64_t listed = 0;            ///< lines of the list
  std::uint64_t unknown = 0;           ///< lines whose docno no shard has
  std::string first_unknown;
};

/// The documents of an index, or of all its shards, whose docnos a text lists, one per line; a docno may name several
/// documents. Throws CorruptFile if a line exceeds 1 MiB, and InvalidArgument if the sets do not fit the memory of
/// `resources`.
ListedDocuments read_docno_list(ByteSource& list, std::span<const IndexReader> shards, const Resources& resources);

}  // namespace quern
