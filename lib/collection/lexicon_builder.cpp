#include "quern/collection/lexicon_builder.hpp"

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

std::vector<std::uint32_t> read_numbers(const File& file, std::uint64_t offset, std::uint64_t count) {
  std::vector<std::uint32_t> numbers(count);
  file.read_at(offset, {reinterpret_cast<std::uint8_t*>(numbers.data()), numbers.size() * 4});
  return numbers;
}

void write_numbers(FileAppender& out, std::span<const std::uint32_t> numbers) {
  out.write({reinterpret_cast<const std::uint8_t*>(numbers.data()), numbers.size_bytes()});
}

}  // namespace

LexiconBuilder::Generation::Generation(const std::string& tmp_folder)
    : file(File::anonymous(tmp_folder)), pairs(file, 0, 16 << 10) {}

LexiconBuilder::LexiconBuilder(const std::string& tmp_folder, std::uint64_t memory_bytes)
    : tmp_folder_(tmp_folder),
      table_memory_bytes_(memory_bytes / 2),
      rows_(tmp_folder, memory_bytes / 2),
      chunk_numbers_file_(File::anonymous(tmp_folder)),
      chunk_numbers_(chunk_numbers_file_) {}

void LexiconBuilder::add_chunk(const TermTable& terms, std::span<const std::uint32_t> df,
                               std::span<const std::uint64_t> cf) {
  std::vector<std::uint32_t> numbers(terms.size());
  for (std::uint32_t i = 0; i < terms.size(); ++i) {
    const std::uint32_t number = terms_.add(terms.term(i), terms.hash(i));
    if (number == df_.size()) {
      df_.push_back(0);
      cf_.push_back(0);
    }
    df_[number] += df[i];
    cf_[number] += cf[i];
    numbers[i] = number;
  }
  write_numbers(chunk_numbers_, numbers);
  chunk_sizes_.push_back(terms.size());
  ++open_chunks_;
  if (terms_.memory_bytes() + (df_.capacity() + cf_.capacity()) * 8 > table_memory_bytes_) end_generation();
}

void LexiconBuilder::end_generation() {
  Bytes payload;
  for (std::uint32_t number = 0; number < terms_.size(); ++number) {
    payload.clear();
    put_varint(payload, generations_.size());
    put_varint(payload, number);
    put_varint(payload, df_[number]);
    put_varint(payload, cf_[number]);
    rows_.add(terms_.term(number), payload);
  }
  auto generation = std::make_unique<Generation>(tmp_folder_);
  generation->num_terms = terms_.size();
  generation->chunks = open_chunks_;
  generations_.push_back(std::move(generation));
  open_chunks_ = 0;
  terms_ = TermTable();
  df_ = {};
  cf_ = {};
}

LexiconBuilder::Counts LexiconBuilder::merge(CollectionWriter& out) {
  Counts counts;
  std::string term;
  std::uint64_t df = 0, cf = 0;
  const auto end_term = [&] {
    if (counts.terms > 0) out.add_term(term, df, cf);
    counts.postings += df;
    counts.tokens += cf;
    df = cf = 0;
  };
  rows_.merge([&](std::string_view key, ByteView bytes) {
    if (counts.terms == 0 || key != term) {
      end_term();
      term = key;
      if (++counts.terms >= end_docid) throw Error("more than 2^32 - 2 terms: split the corpus into shards");
    }
    ByteReader payload(bytes, "lexicon work file");
    Generation& generation = *generations_[payload.varint()];
    const std::uint32_t pair[2] = {payload.varint32(), static_cast<std::uint32_t>(counts.terms - 1)};
    df += payload.varint();
    cf += payload.varint();
    write_numbers(generation.pairs, pair);
  });
  end_term();
  return counts;
}

void LexiconBuilder::write_chunk_terms(CollectionWriter& out) {
  std::size_t chunk = 0;
  std::uint64_t offset = 0;
  for (const auto& generation : generations_) {
    generation->pairs.flush();
    std::vector<term_t> lexicon_numbers(generation->num_terms);
    const auto pairs = read_numbers(generation->file, 0, std::uint64_t{generation->num_terms} * 2);
    for (std::size_t i = 0; i < pairs.size(); i += 2) lexicon_numbers[pairs[i]] = pairs[i + 1];
    for (std::size_t i = 0; i < generation->chunks; ++i, ++chunk) {
      auto numbers = read_numbers(chunk_numbers_file_, offset, chunk_sizes_[chunk]);
      offset += numbers.size() * 4;
      for (std::uint32_t& number : numbers) number = lexicon_numbers[number];
      out.add_chunk_terms(numbers);
    }
  }
}

LexiconBuilder::Counts LexiconBuilder::finish(CollectionWriter& out) {
  if (open_chunks_ > 0) end_generation();
  chunk_numbers_.flush();
  out.begin_lexicon();
  const Counts counts = merge(out);
  out.begin_chunk_terms();
  write_chunk_terms(out);
  return counts;
}

}  // namespace quern
