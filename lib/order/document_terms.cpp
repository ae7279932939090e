#include "quern/order/document_terms.hpp"

#include <limits>

namespace quern {
namespace {

constexpr term_t left_out = std::numeric_limits<term_t>::max();

}  // namespace

DocumentTerms::DocumentTerms(const CollectionReader& collection, std::uint64_t reading_bytes,
                             const Resources& resources) {
  number_terms(collection);
  terms_.resize(collection.num_chunks());
  documents_.resize(collection.num_documents());
  resources.progress->start("read postings", collection.num_documents(), "documents");
  for_each_chunk<ForwardPostings>(
      collection, posting_reading_bytes(collection), reading_bytes, resources,
      [&](ForwardPostings& forward, std::size_t chunk) { read_chunk(collection, chunk, forward); });
  for (const SplitDocument& split : collection.split_documents()) read_split(collection, split);
  resources.progress->finish();
  numbers_ = {};
}

std::uint64_t DocumentTerms::needed_bytes(const CollectionManifest& collection) {
  return collection.postings * sizeof(std::uint32_t) + collection.terms * sizeof(term_t) +
         collection.documents * sizeof(TermSet);
}

void DocumentTerms::number_terms(const CollectionReader& collection) {
  DictionaryScan lexicon = collection.lexicon();
  numbers_.assign(lexicon.size(), left_out);
  DictionaryEntry entry;
  for (std::uint64_t term = 0; lexicon.next(entry); ++term)
    if (const auto df = TermCounts::parse(entry.payload, lexicon.what()).df; df >= 2 && df < collection.num_documents())
      numbers_[term] = num_terms_++;
}

void DocumentTerms::read_split(const CollectionReader& collection, const SplitDocument& split) {
  std::vector<std::uint32_t>& terms = terms_.emplace_back();
  ForwardPostings().read_split(collection, split, split.document, [&](std::span<const Posting> postings) {
    for (const Posting& posting : postings)
      if (numbers_[posting.term] != left_out) terms.push_back(numbers_[posting.term]);
  });
  documents_[split.document] = {terms.data(), static_cast<std::uint32_t>(terms.size()), split.document};
}

void DocumentTerms::read_chunk(const CollectionReader& collection, std::size_t chunk, ForwardPostings& forward) {
  std::vector<std::uint32_t> terms;
  forward.for_each_document(collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
    const std::size_t before = terms.size();
    for (const Posting& posting : postings)
      if (numbers_[posting.term] != left_out) terms.push_back(numbers_[posting.term]);
    documents_[document] = {nullptr, static_cast<std::uint32_t>(terms.size() - before), document};
  });
  // A copy without spare capacity.
  terms_[chunk].assign(terms.begin(), terms.end());
  std::uint32_t* at = terms_[chunk].data();
  const docid_t first = collection.first_document(chunk), end = first + collection.chunk(chunk).documents;
  for (docid_t document = first + (collection.is_continued(chunk) ? 1 : 0); document < end; ++document) {
    documents_[document].terms = at;
    at += documents_[document].size;
  }
}

std::uint64_t link_reading_bytes(const CollectionReader& collection) {
  std::uint64_t max_bytes = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    const ChunkRow& row = collection.chunk(chunk);
    for (const ChunkPiece piece : {ChunkPiece::documents, ChunkPiece::links}) {
      const auto i = static_cast<std::size_t>(piece);
      max_bytes = std::max(max_bytes, row.sizes[i] + 2 * std::uint64_t{row.raw_sizes[i]});
    }
  }
  return max_bytes;
}

std::uint64_t posting_reading_bytes(const CollectionReader& collection) {
  std::uint64_t max_bytes = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
    max_bytes = std::max(max_bytes, ForwardPostings::memory_bytes(collection, chunk));
  return max_bytes;
}

}  // namespace quern
