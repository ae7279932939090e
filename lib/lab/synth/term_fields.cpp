#include "quern/lab/synth/term_fields.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <cmath>
#include <new>
#include <numeric>

#include "quern/core/job_pipeline.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/lab/synth/list_generator.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {

namespace {

constexpr std::uint64_t max_df = end_docid - 1;
/// Longer lines are invalid.
constexpr std::size_t max_line_bytes = 4096;

/// Memory per term: its entry, its text if too long for the entry, its field, and the term that it follows, with the
/// two counts that select it.
std::uint64_t bytes_of_term(std::size_t size) {
  constexpr std::uint64_t allocation_bytes = 16;
  constexpr std::uint64_t entry = sizeof(DfEntry) + sizeof(TermField) + 2 * sizeof(term_t) + sizeof(double);
  return entry + (size > std::string().capacity() ? size + 1 + allocation_bytes : 0);
}

/// Counts the memory of a table while it is read for the first time.
class TableMemory {
 public:
  TableMemory(const std::string& name, const Resources& resources)
      : name_(name), max_bytes_(resources.memory_bytes - std::min(resources.memory_bytes, min_working_bytes)) {}

  /// Throws InvalidArgument.
  void add(std::size_t term_size) {
    ++terms_;
    bytes_ += bytes_of_term(term_size);
    if (bytes_ > max_bytes_)
      throw InvalidArgument("{}: the first {} terms need {} of memory; raise {}", name_, terms_,
                            size_text(bytes_ + min_working_bytes), option_name<"memory">);
  }
  std::uint64_t terms() const { return terms_; }

 private:
  const std::string& name_;
  std::uint64_t max_bytes_, bytes_ = 0, terms_ = 0;
};

DfEntry parse_line(std::string_view line, const std::string& name, std::uint64_t number) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) fail_at_line(name, number, "expected term<TAB>df");
  DfEntry entry;
  entry.term = line.substr(0, tab);
  if (entry.term.empty() || entry.term.size() > max_term_bytes)
    fail_at_line(name, number, fmt::format("the term must have 1 to {} bytes", max_term_bytes));
  if (!is_valid_utf8(entry.term)) fail_at_line(name, number, "the term is not UTF-8");
  const std::string_view digits = trim(line.substr(tab + 1));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), entry.df);
  if (error != std::errc() || end != digits.data() + digits.size() || entry.df == 0 || entry.df > max_df)
    fail_at_line(name, number, fmt::format("the df must be a number from 1 to {}", max_df));
  return entry;
}

/// visit(entry, line number).
template <class Visit>
void for_each_entry(const WholeFile& file, const std::string& name, Visit&& visit) {
  const auto release = [&](std::string_view piece) { file.release(as_bytes(piece)); };
  LineReader lines(without_byte_order_mark(as_text(file.bytes())), release, max_line_bytes);
  std::string_view line;
  while (lines.next(line)) {
    if (lines.is_cut()) fail_at_line(name, lines.number(), "is too long for term<TAB>df");
    if (line.front() != '#') visit(parse_line(line, name, lines.number()), lines.number());
  }
}

[[noreturn]] void fail_for_repeated_term(const WholeFile& file, const std::string& name, const std::string& term) {
  std::uint64_t first = 0;
  for_each_entry(file, name, [&](const DfEntry& entry, std::uint64_t line) {
    if (entry.term != term) return;
    if (first > 0) fail_at_line(name, line, fmt::format("the term '{}' is already in line {}", term, first));
    first = line;
  });
  throw CorruptFile(name + ": changed while being read");
}

}  // namespace

std::uint64_t DfTable::postings() const {
  return std::accumulate(terms.begin(), terms.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const DfEntry& entry) { return sum + entry.df; });
}

std::uint64_t DfTable::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const DfEntry& entry : terms) bytes += bytes_of_term(entry.term.size());
  return bytes;
}

DfTable read_df_table(const std::string& path, const Resources& resources) {
  constexpr std::uint64_t max_bytes = std::uint64_t{16} << 30, max_read_line_bytes = 1 << 20;
  const WholeFile file(path, ReadLimits(max_bytes, max_read_line_bytes), resources);
  DfTable table;
  table.name = source_name(path);
  TableMemory memory(table.name, resources);
  // Counts terms first: a growing table would take twice the memory.
  for_each_entry(file, table.name, [&](const DfEntry& entry, std::uint64_t) { memory.add(entry.term.size()); });
  if (memory.terms() == 0) throw InvalidArgument(table.name + ": has no lines of the form term<TAB>df");
  table.terms.reserve(memory.terms());
  for_each_entry(file, table.name, [&](DfEntry entry, std::uint64_t) { table.terms.push_back(std::move(entry)); });
  std::sort(table.terms.begin(), table.terms.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
  const auto same = std::adjacent_find(table.terms.begin(), table.terms.end(),
                                       [](const auto& a, const auto& b) { return a.term == b.term; });
  if (same != table.terms.end()) fail_for_repeated_term(file, table.name, same->term);
  return table;
}

DfTable df_table_of(const IndexReader& index, const Resources& resources) {
  DfTable table;
  table.name = index.name();
  table.documents = index.num_documents();
  TableMemory memory(table.name, resources);
  const auto for_each_list = [&](auto&& visit) {
    for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) index.for_each_list(block, visit);
  };
  for_each_list([&](std::string_view term, const PostingList&) { memory.add(term.size()); });
  table.terms.reserve(memory.terms());
  for_each_list([&](std::string_view term, const PostingList& list) {
    table.terms.push_back({std::string(term), list.df});
  });
  return table;
}

DfTable scaled_to(DfTable table, std::uint64_t documents) {
  const std::uint64_t own = table.documents == 0 ? documents : table.documents;
  for (DfEntry& entry : table.terms) {
    if (entry.df > own)
      throw InvalidArgument("{}: the df of '{}' is {}, more than the {} documents of the table's collection ({})",
                            table.name, entry.term, entry.df, own, option_name<"df-docs">);
    if (own == documents) continue;
    const double scaled =
        std::round(static_cast<double>(entry.df) * static_cast<double>(documents) / static_cast<double>(own));
    entry.df = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(scaled), 1, documents);
  }
  table.documents = documents;
  return table;
}

namespace {

constexpr std::uint64_t topics = 48;
/// Standard deviation of a cut's log-odds at clustering 1: for a term in all documents, the increase for each halving
/// of its share of the documents, and the maximum; then the share of the variance that correlated terms have in common.
constexpr float noise_min = 0.75f, noise_of_rarity = 0.46f, noise_max = 9.0f, shared_variance = 0.7f;
/// Levels of frequencies: the mean, the standard deviation between terms, and the effect of a term's density.
constexpr float freq_level_mean = 14, freq_level_varies = 3, freq_level_of_density = 3;
/// Standard deviation of the logistic distribution.
constexpr float logistic_deviation = 1.8138f;

enum TermPurpose : std::uint64_t { own = 1, topic_choice, topic_key, level };

std::optional<term_t> find_term(const DfTable& table, const std::string& term) {
  const auto at = std::lower_bound(table.terms.begin(), table.terms.end(), term,
                                   [](const DfEntry& entry, const std::string& wanted) { return entry.term < wanted; });
  if (at == table.terms.end() || at->term != term) return std::nullopt;
  return static_cast<term_t>(at - table.terms.begin());
}

/// The distinct terms of a query that are in the table.
std::vector<term_t> known_terms(const DfTable& table, const std::vector<std::string>& query) {
  std::vector<term_t> terms;
  for (const std::string& term : query)
    if (const auto found = find_term(table, term)) terms.push_back(*found);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

/// For each term, the term that it follows, or itself.
std::vector<term_t> leaders(const DfTable& table, const VisitQueries& for_each_query, const Resources& resources) {
  std::vector<term_t> leaders(table.terms.size());
  std::iota(leaders.begin(), leaders.end(), term_t{0});
  if (!for_each_query) return leaders;
  std::vector<std::uint32_t> query_counts(leaders.size());
  ExternalSort pairs(resources.tmp_folder, resources.memory_bytes / 8);  // follower and possible leader
  for_each_query([&](const std::vector<std::string>& query) {
    const std::vector<term_t> terms = known_terms(table, query);
    for (const term_t term : terms) ++query_counts[term];
    for (const term_t a : terms)
      for (const term_t b : terms)
        if (std::pair(table.terms[a].df, a) < std::pair(table.terms[b].df, b)) pairs.add(SortKey(a, b).view(), {});
  });
  std::vector<double> best(leaders.size());
  std::pair<term_t, term_t> last;
  std::uint64_t count = 0;
  const auto end_pair = [&] {
    if (count == 0) return;
    const auto [follower, leader] = last;
    const double score = static_cast<double>(count) / std::sqrt(static_cast<double>(query_counts[leader]));
    if (score > best[follower]) {
      best[follower] = score;
      leaders[follower] = leader;
    }
    count = 0;
  };
  pairs.merge([&](std::string_view key, ByteView) {
    const std::pair pair(number_in_key<term_t>(key, 0), number_in_key<term_t>(key, sizeof(term_t)));
    if (pair != last) end_pair();
    last = pair;
    ++count;
  });
  end_pair();
  return leaders;
}

void set_strength(TermField& field, float density, double clustering) {
  const float noise =
      static_cast<float>(clustering) * std::min(noise_max, noise_min - noise_of_rarity * std::log2(density));
  field.shared_noise = noise * std::sqrt(shared_variance);
  field.own_noise = noise * std::sqrt(1 - shared_variance);
  const float own = field.own_noise / logistic_deviation;
  field.single_narrowness = 1 / std::sqrt(1 + own * own);
  field.freq_level = freq_level_mean + freq_level_of_density * density;
}

}  // namespace

std::vector<TermField> term_fields(const DfTable& table, double clustering, std::uint64_t seed,
                                   const VisitQueries& for_each_query, const Resources& resources) {
  const auto key = [&](TermPurpose purpose, std::uint64_t bits) {
    return noise_bits(mix_bits(seed + (purpose << 56)), bits);
  };
  std::vector<TermField> fields(table.terms.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::uint64_t hash = xxh3(as_bytes(table.terms[i].term));
    fields[i].df = table.terms[i].df;
    fields[i].own_key = key(own, hash);
    fields[i].shared_key = key(topic_key, key(topic_choice, hash) % topics);
    set_strength(fields[i], static_cast<float>(table.terms[i].df) / static_cast<float>(table.documents), clustering);
    fields[i].freq_level += freq_level_varies * normal_of(key(level, hash));
  }
  const std::vector<term_t> leaders = quern::leaders(table, for_each_query, resources);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (leaders[i] != i) fields[i].shared_key = fields[leaders[i]].own_key;
  return fields;
}

namespace {

bool ends_with(const std::string& name, std::string_view ending) {
  return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

/// One gzip member (RFC 1952).
Bytes gzip_member(std::string& text) {
  constexpr int level = 6, gzip_window = MAX_WBITS + 16, memory_level = 8;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  Bytes out(deflateBound(&stream, text.size()) + 32);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw Error("zlib can't compress");
  return out;
}

/// A chunk to be written.
struct TextJob {
  std::uint64_t chunk = 0;
  std::string text;
  Bytes packed;
  ZstdCompressor compressor{3};
};

}  // namespace

void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out) {
  const bool gzip = ends_with(name, ".gz"), zstd = ends_with(name, ".zst");
  FileAppender appender(out);
  std::uint64_t next_chunk = 0;
  const auto next = [&](TextJob& job) {
    job.chunk = next_chunk++;
    return job.chunk < chunks;
  };
  const auto make = [&](TextJob& job) {
    job.text.clear();
    put_chunk(job.chunk, job.text);
    job.packed.clear();
    if (gzip) {
      job.packed = gzip_member(job.text);
    } else if (zstd) {
      job.compressor.append(as_bytes(job.text), job.packed);
    } else {
      put_bytes(job.packed, job.text);
    }
  };
  run_jobs(
      resources.threads * 2, [] { return std::make_unique<TextJob>(); }, next, make,
      [&](const TextJob& job) { appender.write(job.packed); });
  appender.flush();
}

}  // namespace quern
