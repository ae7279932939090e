#include "quern/corpus/lexicon_builder.hpp"

namespace quern {
namespace {

/// A term's number in its generation, and its term ID.
struct NumberPair {
  std::uint32_t in_generation;
  term_t in_lexicon;
};

}  // namespace

/// Maps the generations' numbers to term IDs: pairs of both, in lexicon order, for each generation. One file holds all
/// generations, each at its own offset, since a process may open only a limited number of files.
class LexiconBuilder::NumberPairs {
 public:
  NumberPairs(const std::vector<Generation>& generations, const std::string& tmp_folder, std::uint64_t buffers_bytes)
      : file_(File::anonymous(tmp_folder)) {
    const std::uint64_t buffer_bytes =
        std::clamp<std::uint64_t>(buffers_bytes / std::max<std::size_t>(generations.size(), 1), 512, 64 << 10);
    std::uint64_t offset = 0;
    for (const Generation& generation : generations) {
      offsets_.push_back(offset);
      out_.emplace_back(file_, offset, buffer_bytes);
      offset += generation.num_terms * sizeof(NumberPair);
    }
  }

  void add(std::size_t generation, std::uint32_t number, term_t lexicon_number) {
    const NumberPair pair{number, lexicon_number};
    out_.at(generation).write({reinterpret_cast<const std::uint8_t*>(&pair), sizeof pair});
  }
  /// The term ID of each of a generation's terms; call once for each generation.
  std::vector<term_t> lexicon_numbers(std::size_t generation, std::uint32_t num_terms) {
    out_[generation].flush();
    std::vector<NumberPair> pairs(num_terms);
    file_.read_at(offsets_[generation],
                  {reinterpret_cast<std::uint8_t*>(pairs.data()), pairs.size() * sizeof(NumberPair)});
    std::vector<term_t> lexicon_numbers(num_terms);
    for (const NumberPair& pair : pairs) lexicon_numbers[pair.in_generation] = pair.in_lexicon;
    return lexicon_numbers;
  }

 private:
  File file_;
  std::vector<std::uint64_t> offsets_;
  std::vector<FileAppender> out_;
};

LexiconBuilder::LexiconBuilder(const std::string& tmp_folder, std::uint64_t memory_bytes)
    : tmp_folder_(tmp_folder),
      table_memory_bytes_(memory_bytes / 2),
      rows_(tmp_folder, memory_bytes / 2),
      chunk_numbers_(tmp_folder) {}

void LexiconBuilder::add_chunk(const ChunkTerms& chunk) {
  // Checked before adding terms, so that the table never holds more than its memory or a single chunk.
  const std::uint64_t used = terms_.memory_bytes() + (df_.capacity() + cf_.capacity()) * 8;
  if (open_chunks_ > 0 && used + chunk.terms.memory_bytes() > table_memory_bytes_) end_generation();
  std::vector<std::uint32_t> numbers(chunk.terms.size());
  constexpr std::uint32_t slots_ahead = 16, rows_ahead = 8;
  for (std::uint32_t i = 0; i < chunk.terms.size(); ++i) {
    if (i + slots_ahead < chunk.terms.size()) terms_.fetch_slot(chunk.terms.key(i + slots_ahead).hash);
    if (i + rows_ahead < chunk.terms.size()) terms_.fetch_row(chunk.terms.key(i + rows_ahead).hash);
    const std::uint32_t number = terms_.add(chunk.terms.key(i));
    if (number == df_.size()) {
      df_.push_back(0);
      cf_.push_back(0);
    }
    df_[number] += chunk.df[i];
    cf_[number] += chunk.cf[i];
    numbers[i] = number;
  }
  if (is_split_open_ || chunk.is_unfinished) count_split_document(chunk, numbers);
  chunk_numbers_.append_array(std::span(numbers));
  chunk_sizes_.push_back(chunk.terms.size());
  ++open_chunks_;
}

/// Corrects double counts of a split document, and records what later chunks must not count again.
void LexiconBuilder::count_split_document(const ChunkTerms& chunk, std::span<const std::uint32_t> numbers) {
  last_counted_in_.resize(terms_.size());
  is_in_open_at_begin_.resize(terms_.size());
  for (const std::uint32_t term : chunk.in_continued) {
    const std::uint32_t number = numbers[term];
    if (last_counted_in_[number] == split_document_) --df_[number];
    last_counted_in_[number] = split_document_;
    if (split_document_ == open_at_begin_) is_in_open_at_begin_[number] = true;
  }
  if (!chunk.goes_through) {
    is_split_open_ = chunk.is_unfinished;
    if (chunk.is_unfinished) ++split_document_;
  }
  for (const std::uint32_t term : chunk.in_unfinished) last_counted_in_[numbers[term]] = split_document_;
}

/// A term's row names the split documents at the generation's start and end that contain the term: merge() then
/// corrects the count of a document that several generations have counted.
void LexiconBuilder::end_generation() {
  const std::uint32_t open_at_end = is_split_open_ ? split_document_ : 0;
  last_counted_in_.resize(terms_.size());
  is_in_open_at_begin_.resize(terms_.size());
  Bytes payload;
  for (std::uint32_t number = 0; number < terms_.size(); ++number) {
    payload.clear();
    put_varint(payload, generations_.size());
    put_varint(payload, number);
    put_varint(payload, df_[number]);
    put_varint(payload, cf_[number]);
    put_varint(payload, is_in_open_at_begin_[number] ? open_at_begin_ : 0);
    put_varint(payload, last_counted_in_[number] == open_at_end ? open_at_end : 0);
    rows_.add(terms_.term(number), payload);
  }
  generations_.push_back({terms_.size(), open_chunks_});
  open_chunks_ = 0;
  open_at_begin_ = open_at_end;
  terms_ = TermTable();
  df_ = {};
  cf_ = {};
  last_counted_in_ = {};
  is_in_open_at_begin_ = {};
}

LexiconBuilder::Counts LexiconBuilder::merge(NumberPairs& pairs, CollectionWriter& out) {
  Counts counts;
  std::string term;
  std::uint64_t df = 0, cf = 0, last_split = 0;
  const auto end_term = [&] {
    if (counts.terms > 0) out.add_term(term, df, cf);
    counts.postings += df;
    counts.tokens += cf;
    df = cf = last_split = 0;
  };
  rows_.merge([&](std::string_view key, ByteView bytes) {
    if (counts.terms == 0 || key != term) {
      end_term();
      term = key;
      if (++counts.terms >= end_docid) throw Error("more than 2^32 - 2 terms: split the corpus into shards");
    }
    ByteReader payload(bytes, "temporary file of the lexicon");
    const std::uint64_t generation = payload.varint();
    pairs.add(generation, payload.varint32(), static_cast<term_t>(counts.terms - 1));
    df += payload.varint();
    cf += payload.varint();
    const std::uint64_t at_begin = payload.varint(), at_end = payload.varint();
    if (at_begin != 0 && at_begin == last_split) --df;
    if (at_end != 0) last_split = at_end;
  });
  end_term();
  return counts;
}

void LexiconBuilder::write_chunk_terms(NumberPairs& pairs, CollectionWriter& out) {
  std::size_t chunk = 0;
  std::uint64_t offset = 0;
  for (std::size_t g = 0; g < generations_.size(); ++g) {
    const std::vector<term_t> lexicon_numbers = pairs.lexicon_numbers(g, generations_[g].num_terms);
    for (std::size_t i = 0; i < generations_[g].chunks; ++i, ++chunk) {
      std::vector<std::uint32_t> numbers(chunk_sizes_[chunk]);
      chunk_numbers_.read_array(offset, std::span(numbers));
      offset += numbers.size() * sizeof(std::uint32_t);
      for (std::uint32_t& number : numbers) number = lexicon_numbers[number];
      out.add_chunk_terms(numbers);
    }
  }
}

LexiconBuilder::Counts LexiconBuilder::finish(CollectionWriter& out) {
  if (open_chunks_ > 0) end_generation();
  out.begin_lexicon();
  NumberPairs pairs(generations_, tmp_folder_, table_memory_bytes_);
  const Counts counts = merge(pairs, out);
  out.begin_chunk_terms();
  write_chunk_terms(pairs, out);
  return counts;
}

}  // namespace quern
