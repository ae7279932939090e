#include "quern/order/document_terms.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>

#include "quern/collection/forward_postings.hpp"
#include "quern/core/run_stage.hpp"

namespace quern {
namespace {

constexpr term_t left_out = std::numeric_limits<term_t>::max();

}  // namespace

DocumentTerms::DocumentTerms(const CollectionReader& collection, const Resources& resources) {
  number_terms(collection);
  terms_.resize(collection.num_chunks());
  documents_.resize(collection.num_documents());
  tbb::enumerable_thread_specific<ForwardPostings> readers;
  resources.progress->start("read postings", collection.num_documents(), "documents");
  const auto read = [&](std::size_t chunk) {
    read_chunk(collection, chunk, readers.local().read(collection, chunk));
    resources.progress->add(collection.chunk(chunk).documents);
  };
  on_threads(resources.threads, [&] { tbb::parallel_for(std::size_t{0}, collection.num_chunks(), read); });
  for (const SplitDocument& split : collection.split_documents()) read_split(collection, split);
  resources.progress->finish();
  numbers_ = {};
}

std::uint64_t DocumentTerms::needed_bytes(const CollectionManifest& collection) {
  return collection.postings * sizeof(std::uint32_t) + collection.terms * sizeof(term_t) +
         collection.documents * sizeof(TermSet);
}

void DocumentTerms::number_terms(const CollectionReader& collection) {
  LexiconScan lexicon = collection.lexicon();
  numbers_.assign(lexicon.size(), left_out);
  LexiconEntry entry;
  for (std::uint64_t term = 0; lexicon.next(entry); ++term)
    if (entry.df >= 2 && entry.df < collection.num_documents()) numbers_[term] = num_terms_++;
}

void DocumentTerms::read_split(const CollectionReader& collection, const SplitDocument& split) {
  std::vector<std::uint32_t>& terms = terms_.emplace_back();
  ForwardPostings().read_split(collection, split, split.document, [&](std::span<const Posting> postings) {
    for (const Posting& posting : postings)
      if (numbers_[posting.term] != left_out) terms.push_back(numbers_[posting.term]);
  });
  documents_[split.document] = {terms.data(), static_cast<std::uint32_t>(terms.size()), split.document};
}

void DocumentTerms::read_chunk(const CollectionReader& collection, std::size_t chunk,
                               std::span<const Posting> postings) {
  const auto is_kept = [&](const Posting& posting) { return numbers_[posting.term] != left_out; };
  std::vector<std::uint32_t>& terms = terms_[chunk];
  terms.reserve(static_cast<std::size_t>(std::count_if(postings.begin(), postings.end(), is_kept)));
  std::size_t i = 0;
  docid_t document = collection.first_document(chunk);
  const docid_t end = document + collection.chunk(chunk).documents;
  for (; document < end; ++document) {
    const std::size_t first = terms.size();
    for (; i < postings.size() && postings[i].docid == document; ++i)
      if (is_kept(postings[i])) terms.push_back(numbers_[postings[i].term]);
    documents_[document] = {terms.data() + first, static_cast<std::uint32_t>(terms.size() - first), document};
  }
}

}  // namespace quern
