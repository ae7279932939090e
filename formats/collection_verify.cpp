#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <iterator>
#include <numeric>

#include "quern/formats/collection.hpp"

/// Verifies the contents of a collection, in addition to its sections' sums.
namespace quern {

std::uint64_t CollectionReader::count_stream(std::size_t chunk, ByteView stream) const {
  std::uint64_t tokens = 0;
  for (TokenCursor cursor(stream); !cursor.done();) {
    const std::uint32_t token = cursor.next();
    if (token > rows_[chunk].terms) throw CorruptFile(place(chunk, "the forward lists") + ": an unknown term");
    tokens += token != TokenCursor::phrase_end_token;
  }
  return tokens;
}

std::uint64_t CollectionReader::count_tokens(std::size_t chunk, const ForwardRow& row) const {
  count_stream(chunk, row.url);
  return count_stream(chunk, row.title) +
         (manifest_.impacts ? sum_weights(chunk, row.body) : count_stream(chunk, row.body));
}

std::uint64_t CollectionReader::sum_weights(std::size_t chunk, ByteView body) const {
  std::uint64_t sum = 0;
  for (WeightCursor cursor(body); cursor.next(); sum += cursor.weight()) {
    if (cursor.chunk_term() >= rows_[chunk].terms)
      throw CorruptFile(place(chunk, "the forward lists") + ": an unknown term");
    if (cursor.weight() > manifest_.impacts->max_weight())
      throw CorruptFile(place(chunk, "the forward lists") + ": a weight has too many bits");
  }
  return sum;
}

std::uint64_t CollectionReader::verify_texts(std::size_t chunk, ChunkBuffers& buffers) const {
  std::uint64_t bytes = 0;
  const auto rows = texts(chunk, buffers);
  for (const std::string_view text : rows) bytes += text.size();
  for (std::size_t i = is_continued(chunk) ? 1 : 0; i < rows_[chunk].documents; ++i)
    if (!rows[i].ends_with('\n')) throw CorruptFile(place(chunk, "the texts") + ": a text does not end with a newline");
  return bytes;
}

CollectionCounts CollectionReader::verify_chunk(std::size_t chunk, ChunkBuffers& buffers) const {
  const Part& part = part_of(chunk);
  const SectionInfo& lengths_section = part.container.find("lengths");
  std::vector<std::uint32_t> chunk_lengths(rows_[chunk].documents);
  part.container.file().read_at(lengths_section.offset + std::uint64_t{first_document(chunk) - part.first_document} * 4,
                                {reinterpret_cast<std::uint8_t*>(chunk_lengths.data()), chunk_lengths.size() * 4});
  CollectionCounts counts;
  const auto rows = documents(chunk, buffers);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].tokens != chunk_lengths[i])
      throw CorruptFile(place(chunk, "the documents") + ": a length differs from section 'lengths'");
    counts.tokens += rows[i].tokens;
    counts.empty_documents += rows[i].tokens == 0;
    counts.documents_without_url += rows[i].url.empty();
  }
  const auto streams = forward(chunk, buffers);
  for (std::size_t i = is_continued(chunk) ? 1 : 0; i < chunk_lengths.size(); ++i)
    if (count_tokens(chunk, streams[i]) != chunk_lengths[i])
      throw CorruptFile(place(chunk, "the forward lists") + ": the tokens differ from section 'lengths'");
  for (const ForwardRow& row : streams) counts.title_tokens += count_stream(chunk, row.title);
  std::sort(buffers.terms.begin(), buffers.terms.end());
  if (std::adjacent_find(buffers.terms.begin(), buffers.terms.end()) != buffers.terms.end())
    part.container.fail("chunk_terms", fmt::format("chunk {} has a term twice", chunk - part.first_chunk));
  links(chunk, buffers, [&](std::uint32_t, std::string_view, std::string_view) { ++counts.links; });
  if (has_texts()) counts.text_bytes = verify_texts(chunk, buffers);
  if (has_fields()) fields(chunk, buffers);
  return counts;
}

void CollectionReader::verify_split(const SplitDocument& split, ChunkBuffers& buffers) const {
  std::uint64_t tokens = 0;
  for (std::size_t chunk = split.first_chunk; chunk <= split.last_chunk; ++chunk)
    tokens += count_tokens(chunk, forward(chunk, buffers)[split.document - first_document(chunk)]);
  if (tokens != documents(split.last_chunk, buffers).front().tokens)
    throw CorruptFile(place(split.first_chunk, "the forward lists") +
                      ": a split document's tokens differ from its length");
}

void CollectionReader::verify_contents(const Resources& resources) const {
  return run_stage(resources, [&] {
    tbb::enumerable_thread_specific<ChunkBuffers> buffers;
    tbb::parallel_for(std::size_t{0}, split_documents_.size(),
                      [&](std::size_t i) { verify_split(split_documents_[i], buffers.local()); });
    tbb::enumerable_thread_specific<CollectionCounts> counts;
    tbb::parallel_for(std::size_t{0}, num_chunks(), [&](std::size_t chunk) {
      counts.local() = counts.local() + verify_chunk(chunk, buffers.local());
      const auto& sizes = rows_[chunk].sizes;
      resources.progress->add(std::accumulate(std::begin(sizes), std::end(sizes), std::uint64_t{0}));
    });
    const CollectionCounts found = counts.combine(std::plus<>());
    const CollectionCounts expected{
        manifest_.tokens, manifest_.empty_documents,        manifest_.documents_without_url,
        manifest_.links,  manifest_.text_bytes.value_or(0), manifest_.title_tokens.value_or(found.title_tokens)};
    if (found != expected)
      container().fail(
          "manifest", "its counts of tokens, links, texts, empty documents or URLs differ from those of the documents");
    DictionaryScan scan = lexicon();
    DictionaryEntry entry;
    std::string last;
    std::uint64_t count = 0;
    TermCounts sums;
    while (scan.next(entry)) {
      sums += TermCounts::parse(entry.payload, scan.what());
      if (count > 0 && entry.term <= last) container().fail("lexicon", "terms out of order");
      last = entry.term;
      ++count;
    }
    if (count != manifest_.terms || sums != TermCounts{manifest_.postings, manifest_.tokens})
      container().fail("lexicon", "its counts differ from the manifest's");
  });
}

}  // namespace quern
