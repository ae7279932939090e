#include "quern/corpus/forward_postings.hpp"

namespace quern {

void ForwardPostings::count(ByteView stream, const CollectionReader& collection) {
  for (TokenCursor cursor(stream); !cursor.done();) {
    const std::uint32_t token = cursor.next();
    if (token == TokenCursor::phrase_end_token) continue;
    if (token > counts_.size()) throw CorruptFile(collection.name() + ": section 'chunk_data': an unknown term");
    if (counts_[token - 1]++ == 0) counted_.push_back(token - 1);
  }
}

void ForwardPostings::count_weights(ByteView body, const CollectionReader& collection) {
  for (WeightCursor cursor(body); cursor.next();) {
    const std::uint32_t term = cursor.chunk_term();
    if (term >= counts_.size()) throw CorruptFile(collection.name() + ": section 'chunk_data': an unknown term");
    if (counts_[term] != 0) throw CorruptFile(collection.name() + ": section 'chunk_data': a term with two weights");
    counts_[term] = cursor.weight();
    counted_.push_back(term);
  }
}

void ForwardPostings::count_row(const ForwardRow& row, docid_t docid, const CollectionReader& collection,
                                std::vector<Posting>& postings) {
  counted_.clear();
  count(row.title, collection);
  if (collection.manifest().impacts)
    count_weights(row.body, collection);
  else
    count(row.body, collection);
  for (const std::uint32_t term : counted_) {
    postings.push_back({buffers_.terms[term], docid, counts_[term]});
    counts_[term] = 0;
  }
}

void ForwardPostings::begin_chunk(const CollectionReader& collection, std::size_t chunk) {
  collection_ = &collection;
  collection.forward(chunk, buffers_);
  counts_.assign(buffers_.terms.size(), 0);
  first_document_ = collection.first_document(chunk);
  next_document_ = collection.is_continued(chunk) ? 1 : 0;
  documents_ended_ = collection.chunk(chunk).documents;
}

bool ForwardPostings::next(std::span<const docid_t> docids, std::size_t enough, std::vector<Posting>& postings) {
  postings.clear();
  if (next_document_ >= documents_ended_) return false;
  // A posting takes at least a byte. Memory is scarce, and an array that doubles would take twice as much.
  if (enough < buffers_.raw.size()) postings.reserve(enough + buffers_.terms.size());
  for (; next_document_ < documents_ended_ && postings.size() < enough; ++next_document_)
    if (const docid_t docid = docids[first_document_ + next_document_]; docid != end_docid)
      count_row(buffers_.forward[next_document_], docid, *collection_, postings);
  return true;
}

std::uint64_t ForwardPostings::memory_bytes(const CollectionReader& collection, std::size_t chunk) {
  const std::uint64_t terms = collection.chunk(chunk).terms;
  return collection.forward_bytes(chunk) + terms * (sizeof(freq_t) + sizeof(std::uint32_t)) + terms * sizeof(Posting);
}

namespace {

/// Sorts by term and merges the frequencies of equal terms.
void sum_by_term(std::vector<Posting>& postings) {
  std::sort(postings.begin(), postings.end(), [](const Posting& a, const Posting& b) { return a.term < b.term; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < postings.size(); ++i)
    if (postings[i].term == postings[last].term)
      postings[last].freq += postings[i].freq;
    else
      postings[++last] = postings[i];
  if (!postings.empty()) postings.resize(last + 1);
}

}  // namespace

void ForwardPostings::read_split(const CollectionReader& collection, const SplitDocument& split, docid_t docid,
                                 const std::function<void(std::span<const Posting>)>& visit,
                                 std::size_t batch_postings) {
  std::vector<Posting> batch, chunk_postings;
  // Each pass takes the lowest terms from `begin` on, as many as fit a batch.
  for (std::uint64_t begin = 0, end = 0; begin < end_docid; begin = end) {
    end = end_docid;
    batch.clear();
    for (std::size_t chunk = split.first_chunk; chunk <= split.last_chunk; ++chunk) {
      const auto rows = collection.forward(chunk, buffers_);
      counts_.assign(buffers_.terms.size(), 0);
      chunk_postings.clear();
      count_row(rows[split.document - collection.first_document(chunk)], docid, collection, chunk_postings);
      for (const Posting& posting : chunk_postings)
        if (posting.term >= begin && posting.term < end) batch.push_back(posting);
      sum_by_term(batch);
      if (batch.size() <= batch_postings) continue;
      end = batch[batch_postings].term;
      batch.resize(batch_postings);
    }
    visit(batch);
  }
}

}  // namespace quern
