#pragma once
#include "quern/core/weighting_model.hpp"
#include "quern/formats/collection.hpp"

namespace quern {

/// A posting on its way from the forward lists to its posting list.
struct Posting {
  term_t term = 0;
  docid_t docid = 0;
  freq_t freq = 0;
  bool operator==(const Posting&) const = default;
};

/// Counts the terms of a collection's documents, in title and body together. Weights supplied by the corpus are used as
/// counts. Not thread-safe.
class ForwardPostings {
 public:
  ForwardPostings() = default;
  /// Unless it is empty, postings have FieldFactors::join() of their frequencies in title and body as frequency.
  explicit ForwardPostings(FactorsOf factors_of) : factors_of_(std::move(factors_of)) {}

  /// Moves to the start of a chunk; next() then returns its documents in several calls.
  void begin_chunk(const CollectionReader& collection, std::size_t chunk);
  /// Replaces `postings` by those of the next documents that begin and end in the chunk: at least `enough` postings, or
  /// all that are left. docids[d] is the docID of the collection's document d, or end_docid to leave it out. False if
  /// no document is left. The collection must still exist.
  bool next(std::span<const docid_t> docids, std::size_t enough, std::vector<Posting>& postings);
  /// Calls visit(document, postings) for the documents that begin and end in the chunk, in order. The postings have the
  /// document's number in the collection as docID, and are valid during the call.
  template <class Visit>
  void for_each_document(const CollectionReader& collection, std::size_t chunk, Visit&& visit) {
    begin_chunk(collection, chunk);
    for (; next_document_ < documents_ended_; ++next_document_) {
      const docid_t document = first_document_ + next_document_;
      document_postings_.clear();
      count_row(buffers_.forward[next_document_], document, collection, document_postings_);
      visit(document, std::span<const Posting>(document_postings_));
    }
  }
  /// Memory of begin_chunk(), and of next() for postings beyond `enough`.
  static std::uint64_t memory_bytes(const CollectionReader& collection, std::size_t chunk);

  /// Postings of a split document in memory at once; twice as many before sorting, and as many for titles with factors.
  static constexpr std::size_t split_batch_postings = 1 << 18;
  /// Calls visit(postings) for batches of the postings of a document that spans several chunks: terms increase, each
  /// occurs once, with `docid`. Reads the document's chunks again for each batch.
  void read_split(const CollectionReader& collection, const SplitDocument& split, docid_t docid,
                  const std::function<void(std::span<const Posting>)>& visit,
                  std::size_t batch_postings = split_batch_postings);

 private:
  /// Before the first row of a chunk with this many terms.
  void clear_counts(std::size_t terms);
  void count(ByteView stream, const CollectionReader& collection);
  /// As above for a body with weights, which serve as frequencies.
  void count_weights(ByteView body, const CollectionReader& collection);
  /// Counts the row's title, then its body.
  void count_fields(const ForwardRow& row, const CollectionReader& collection);
  std::span<const std::uint32_t> counted() const { return {counted_.data(), num_counted_}; }
  void add_lengths();
  /// The factors of a document with these lengths.
  FieldFactors factors() const;
  /// Replaces the row's counts by the sums of its fields.
  void join_counts();
  /// Appends the row's postings to `postings` and resets its counts to zero.
  void count_row(const ForwardRow& row, docid_t docid, const CollectionReader& collection,
                 std::vector<Posting>& postings);

  const CollectionReader* collection_ = nullptr;
  docid_t first_document_ = 0;                             ///< the chunk's first document
  std::uint32_t next_document_ = 0, documents_ended_ = 0;  ///< of the chunk's documents
  ChunkBuffers buffers_;
  std::vector<freq_t> counts_;  ///< of each chunk term, in the current document
  std::vector<Posting> document_postings_;
  std::vector<std::uint32_t> counted_;  ///< chunk terms of the current document, in order of first occurrence
  std::size_t num_counted_ = 0;
  FactorsOf factors_of_;
  // With factors:
  std::vector<freq_t> title_counts_;  ///< counts in the title, for the first of these terms
  struct {
    std::uint64_t title = 0, all = 0;
  } lengths_;  ///< tokens of the current document
};

}  // namespace quern
