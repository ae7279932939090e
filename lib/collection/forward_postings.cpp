#include "quern/collection/forward_postings.hpp"

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

template <class DocidOf>
std::vector<Posting> ForwardPostings::read_with(const CollectionReader& collection, std::size_t chunk,
                                                const DocidOf& docid_of) {
  const auto documents = collection.forward(chunk, buffers_);
  counts_.assign(buffers_.terms.size(), 0);
  std::vector<Posting> postings;
  docid_t document = collection.first_document(chunk);
  for (const ForwardRow& row : documents) {
    counted_.clear();
    count(row.title, collection);
    count(row.body, collection);
    const docid_t docid = docid_of(document++);
    for (const std::uint32_t term : counted_) {
      postings.push_back({buffers_.terms[term], docid, counts_[term]});
      counts_[term] = 0;
    }
  }
  return postings;
}

std::vector<Posting> ForwardPostings::read(const CollectionReader& collection, std::size_t chunk,
                                           std::span<const docid_t> docids) {
  return read_with(collection, chunk, [&](docid_t document) { return docids[document]; });
}

std::vector<Posting> ForwardPostings::read(const CollectionReader& collection, std::size_t chunk) {
  return read_with(collection, chunk, [](docid_t document) { return document; });
}

}  // namespace quern
