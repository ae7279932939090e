#pragma once
#include <tbb/parallel_for.h>

#include "quern/core/job_pipeline.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/collection.hpp"

namespace quern {

/// A document as a set of terms, which may be overwritten.
struct TermSet {
  std::uint32_t* terms = nullptr;
  std::uint32_t size = 0;
  docid_t document = 0;  ///< its number in the collection

  std::span<std::uint32_t> view() const { return {terms, size}; }
};

/// The documents of a collection as sets of terms, four bytes per posting. Terms that don't distinguish documents,
/// since a single document contains them or all do, are dropped; the others are numbered from 0.
class DocumentTerms {
 public:
  /// An upper bound of the memory: 4 bytes per posting, and some per document and term.
  static std::uint64_t needed_bytes(const CollectionManifest& collection);

  /// Throws CorruptFile if the collection's parts contradict each other. As many threads read chunks as fit in
  /// `reading_bytes`.
  DocumentTerms(const CollectionReader& collection, std::uint64_t reading_bytes, const Resources& resources);

  /// By number in the collection; terms in order of first occurrence, or in lexicon order if the document spans several
  /// chunks.
  const std::vector<TermSet>& documents() const { return documents_; }
  std::uint32_t num_terms() const { return num_terms_; }

 private:
  void number_terms(const CollectionReader& collection);
  void read_chunk(const CollectionReader& collection, std::size_t chunk, ForwardPostings& forward);
  void read_split(const CollectionReader& collection, const SplitDocument& split);

  std::vector<term_t> numbers_;  ///< new number of each term of the lexicon
  std::uint32_t num_terms_ = 0;
  std::vector<std::vector<std::uint32_t>> terms_;  ///< of each chunk, then of each split document
  std::vector<TermSet> documents_;
};

/// Maximum memory for reading documents and links of any chunk, and the same again for the results.
std::uint64_t link_reading_bytes(const CollectionReader& collection);
/// Maximum memory for counting the postings of any chunk (ForwardPostings).
std::uint64_t posting_reading_bytes(const CollectionReader& collection);

/// Calls work(reader, chunk) for all chunks of the collection, with a reader that no other thread uses at the time, on
/// as many threads as fit in `memory_bytes` with `reading_bytes` each, at least one. make() returns a
/// std::unique_ptr<Reader>.
template <class Reader, class Make, class Work>
void for_each_chunk(const CollectionReader& collection, std::uint64_t reading_bytes, std::uint64_t memory_bytes,
                    const Resources& resources, JobPool<Reader>& readers, Make&& make, Work&& work) {
  const std::uint64_t fitting = memory_bytes / std::max<std::uint64_t>(reading_bytes, 1);
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(fitting, 1, resources.threads));
  on_threads(threads, [&] {
    tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
      Reader* const reader = readers.take(make);
      work(*reader, chunk);
      readers.give_back(reader);
      resources.progress->add(collection.chunk(chunk).documents);
    });
  });
}

/// As above with default-constructed readers.
template <class Reader, class Work>
void for_each_chunk(const CollectionReader& collection, std::uint64_t reading_bytes, std::uint64_t memory_bytes,
                    const Resources& resources, Work&& work) {
  JobPool<Reader> readers;
  for_each_chunk(
      collection, reading_bytes, memory_bytes, resources, readers, [] { return std::make_unique<Reader>(); },
      std::forward<Work>(work));
}

}  // namespace quern
