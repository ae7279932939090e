#include "quern/corpus/forward_postings.hpp"

#include <limits>

namespace quern {

void ForwardPostings::clear_counts(std::size_t terms) {
  counts_.assign(terms, 0);
  counted_.resize(terms + 1);
  num_counted_ = 0;
}

void ForwardPostings::count(ByteView stream, const CollectionReader& collection) {
  // In local variables, which the writes below can't change. No branch tells a document's new terms from repeated ones.
  freq_t* const counts = counts_.data();
  std::uint32_t* const counted = counted_.data();
  const std::size_t terms = counts_.size();
  std::size_t num_counted = num_counted_;
  for (TokenCursor cursor(stream); !cursor.done();) {
    const std::uint32_t token = cursor.next();
    if (token == TokenCursor::phrase_end_token) continue;
    if (token > terms) throw CorruptFile(collection.name() + ": section 'chunk_data': an unknown term");
    counted[num_counted] = token - 1;
    num_counted += counts[token - 1]++ == 0 ? 1 : 0;
  }
  num_counted_ = num_counted;
}

void ForwardPostings::count_weights(ByteView body, const CollectionReader& collection) {
  for (WeightCursor cursor(body); cursor.next();) {
    const std::uint32_t term = cursor.chunk_term();
    if (term >= counts_.size()) throw CorruptFile(collection.name() + ": section 'chunk_data': an unknown term");
    if (counts_[term] != 0) throw CorruptFile(collection.name() + ": section 'chunk_data': a term with two weights");
    counts_[term] = cursor.weight();
    counted_[num_counted_++] = term;
  }
}

void ForwardPostings::count_fields(const ForwardRow& row, const CollectionReader& collection) {
  num_counted_ = 0;
  // Then no count overflows.
  if (row.title.size() + row.body.size() > std::numeric_limits<freq_t>::max())
    throw CorruptFile(collection.name() + ": section 'chunk_data': a document is too long");
  count(row.title, collection);
  if (factors_of_) {
    title_counts_.clear();
    for (const std::uint32_t term : counted()) title_counts_.push_back(counts_[term]);
  }
  if (collection.manifest().impacts)
    count_weights(row.body, collection);
  else
    count(row.body, collection);
}

FieldFactors ForwardPostings::factors() const { return factors_of_(lengths_.title, lengths_.all - lengths_.title); }

/// Adds the counted tokens to the document's lengths.
void ForwardPostings::add_lengths() {
  for (const std::uint32_t term : counted()) lengths_.all += counts_[term];
  for (const freq_t count : title_counts_) lengths_.title += count;
}

void ForwardPostings::join_counts() {
  lengths_ = {};
  add_lengths();
  const FieldFactors factors = this->factors();
  for (std::size_t i = 0; i < num_counted_; ++i) {
    freq_t& count = counts_[counted_[i]];
    const freq_t in_title = i < title_counts_.size() ? title_counts_[i] : 0;
    count = factors.join(in_title, count - in_title);
  }
}

void ForwardPostings::count_row(const ForwardRow& row, docid_t docid, const CollectionReader& collection,
                                std::vector<Posting>& postings) {
  count_fields(row, collection);
  if (factors_of_) join_counts();
  for (const std::uint32_t term : counted()) {
    postings.push_back({buffers_.terms[term], docid, counts_[term]});
    counts_[term] = 0;
  }
}

void ForwardPostings::begin_chunk(const CollectionReader& collection, std::size_t chunk) {
  collection_ = &collection;
  collection.forward(chunk, buffers_);
  clear_counts(buffers_.terms.size());
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

/// Replaces the frequencies of a document's postings. `titles` are those of its title alone; both ascend.
void join_fields(std::span<Posting> postings, std::span<const Posting> titles, const FieldFactors& factors) {
  std::size_t next = 0;
  for (Posting& posting : postings) {
    const bool is_in_title = next < titles.size() && titles[next].term == posting.term;
    const freq_t in_title = is_in_title ? titles[next++].freq : 0;
    posting.freq = factors.join(in_title, posting.freq - in_title);
  }
}

}  // namespace

void ForwardPostings::read_split(const CollectionReader& collection, const SplitDocument& split, docid_t docid,
                                 const std::function<void(std::span<const Posting>)>& visit,
                                 std::size_t batch_postings) {
  std::vector<Posting> batch, titles;
  // Each pass takes the lowest terms from `begin` on, as many as fit a batch.
  for (std::uint64_t begin = 0, end = 0; begin < end_docid; begin = end) {
    end = end_docid;
    batch.clear();
    titles.clear();
    lengths_ = {};
    for (std::size_t chunk = split.first_chunk; chunk <= split.last_chunk; ++chunk) {
      const auto rows = collection.forward(chunk, buffers_);
      clear_counts(buffers_.terms.size());
      count_fields(rows[split.document - collection.first_document(chunk)], collection);
      if (factors_of_) add_lengths();
      for (std::size_t i = 0; i < num_counted_; ++i) {
        const term_t term = buffers_.terms[counted_[i]];
        if (term < begin || term >= end) continue;
        batch.push_back({term, docid, counts_[counted_[i]]});
        if (i < title_counts_.size()) titles.push_back({term, docid, title_counts_[i]});
      }
      sum_by_term(batch);
      sum_by_term(titles);
      if (batch.size() <= batch_postings) continue;
      end = batch[batch_postings].term;
      batch.resize(batch_postings);
      std::erase_if(titles, [&](const Posting& posting) { return posting.term >= end; });
    }
    if (factors_of_) join_fields(batch, titles, factors());
    visit(batch);
  }
}

}  // namespace quern
