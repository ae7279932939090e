#include "quern/collection/forward_postings.hpp"

#include <algorithm>

#include "quern/core/error.hpp"

namespace quern {

void ForwardPostings::count(ByteView stream, const CollectionReader& collection) {
  for (TokenCursor cursor(stream); !cursor.done();) {
    const std::uint32_t token = cursor.next();
    if (token == TokenCursor::phrase_end_token) continue;
    if (token > counts_.size()) throw CorruptFile(collection.name() + ": section 'chunk_data': an unknown term");
    if (counts_[token - 1]++ == 0) counted_.push_back(token - 1);
  }
}

void ForwardPostings::count_row(const ForwardRow& row, docid_t docid, const CollectionReader& collection,
                                std::vector<Posting>& postings) {
  counted_.clear();
  count(row.title, collection);
  count(row.body, collection);
  for (const std::uint32_t term : counted_) {
    postings.push_back({buffers_.terms[term], docid, counts_[term]});
    counts_[term] = 0;
  }
}

template <class DocidOf>
std::vector<Posting> ForwardPostings::read_with(const CollectionReader& collection, std::size_t chunk,
                                                const DocidOf& docid_of) {
  const auto rows = collection.forward(chunk, buffers_);
  counts_.assign(buffers_.terms.size(), 0);
  std::vector<Posting> postings;
  const docid_t first = collection.first_document(chunk);
  for (std::uint32_t i = collection.is_continued(chunk) ? 1 : 0; i < collection.chunk(chunk).documents; ++i)
    count_row(rows[i], docid_of(first + i), collection, postings);
  return postings;
}

namespace {

/// Sorts by term and adds up the frequencies of equal terms.
void sum_by_term(std::vector<Posting>& postings) {
  std::sort(postings.begin(), postings.end(), [](const Posting& a, const Posting& b) { return a.term < b.term; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < postings.size(); ++i) {
    if (postings[i].term == postings[last].term) {
      postings[last].freq += postings[i].freq;
    } else {
      postings[++last] = postings[i];
    }
  }
  if (!postings.empty()) postings.resize(last + 1);
}

}  // namespace

void ForwardPostings::read_split(const CollectionReader& collection, const SplitDocument& split, docid_t docid,
                                 const std::function<void(std::span<const Posting>)>& visit,
                                 std::size_t batch_postings) {
  std::vector<Posting> batch, of_chunk;
  // Each pass takes the least terms from `begin` on, as many as a batch holds.
  for (std::uint64_t begin = 0, end = 0; begin < end_docid; begin = end) {
    end = end_docid;
    batch.clear();
    for (std::size_t chunk = split.first_chunk; chunk <= split.last_chunk; ++chunk) {
      const auto rows = collection.forward(chunk, buffers_);
      counts_.assign(buffers_.terms.size(), 0);
      of_chunk.clear();
      count_row(rows[split.document - collection.first_document(chunk)], docid, collection, of_chunk);
      for (const Posting& posting : of_chunk)
        if (posting.term >= begin && posting.term < end) batch.push_back(posting);
      sum_by_term(batch);
      if (batch.size() <= batch_postings) continue;
      end = batch[batch_postings].term;
      batch.resize(batch_postings);
    }
    visit(batch);
  }
}

std::vector<Posting> ForwardPostings::read(const CollectionReader& collection, std::size_t chunk,
                                           std::span<const docid_t> docids) {
  return read_with(collection, chunk, [&](docid_t document) { return docids[document]; });
}

std::vector<Posting> ForwardPostings::read(const CollectionReader& collection, std::size_t chunk) {
  return read_with(collection, chunk, [](docid_t document) { return document; });
}

}  // namespace quern
