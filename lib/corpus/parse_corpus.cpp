#include "quern/corpus/parse_corpus.hpp"

#include <fmt/format.h>
#include <tbb/parallel_invoke.h>

#include "quern/core/job_pipeline.hpp"
#include "quern/corpus/lexicon_builder.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {
namespace {

constexpr std::size_t max_reported_bad = 100;
/// Memory of a batch in flight, as a multiple of its bytes: bytes, text, tokens, terms and frames. Documents with
/// mostly distinct terms take almost twice that, so with 64 MB there is one batch at a time.
constexpr std::uint64_t batch_growth = 11;
/// Additional multiple for stored texts and their frame.
constexpr std::uint64_t text_growth = 2;

/// A batch on its way through the pipeline, with all buffers for its parsing: one per batch in flight, however many
/// threads take turns.
struct Job {
  Job(const ParseOptions& options, const std::string& tmp_folder)
      : builder(options.analyzer, options.reader, tmp_folder, options.chunk_limits, options.store_text,
                options.impacts) {}

  RecordBatch batch;
  ChunkBuilder builder;
  ParsedBatch parsed;
  std::vector<ParsedChunk> chunks;
  std::size_t num_chunks = 0;                           ///< used ones; `chunks` may have one more for reuse
  std::vector<MemoryBudget::Reservation> reservations;  ///< for the chunks after the first
  bool is_built = false;

  void forget_chunks() {
    num_chunks = 0;
    chunks.resize(std::min<std::size_t>(chunks.size(), 1));
    reservations.clear();
  }
};

CorpusFiles corpus_files(const ParseOptions& options, const Resources& resources) {
  if (options.list) return find_corpus_files(*options.list, options.files, resources);
  if (!options.source) {
    CorpusFiles files = find_corpus_files(options.corpus, options.files, resources);
    if (options.range) files.choose_range(*options.range);
    return files;
  }
  CorpusFiles files(resources.tmp_folder);
  files.add_source(options.source);
  return files;
}

class CorpusParser {
 public:
  CorpusParser(const ParseOptions& options, const Resources& resources, File& out)
      : options_(options),
        resources_(resources),
        out_(out),
        reader_(corpus_files(options, resources), options.reader, resources),
        writer_(out, resources.tmp_folder, options.store_text, !options.reader.field_names.kept.empty()),
        lexicon_(resources.tmp_folder, resources.memory_bytes / 4),
        docnos_(resources.tmp_folder, resources.memory_bytes / 32),
        waiting_chunks_(resources.memory_bytes / 8),
        chooser_(options.pages, resources.memory_bytes / 4) {}

  ParseReport run() {
    start();
    run_pipeline();
    report(remarked_);
    report(empty_);
    report(cut_);
    if (report_.indexed == 0) note_empty_corpus();
    report_.formats = reader_.formats();
    report_.num_files = reader_.files().size();
    report_.num_skipped_files = reader_.num_skipped_files();
    report_.skipped_files = reader_.skipped_files();
    report_.num_passed_over = reader_.files().num_passed_over();
    report_.passed_over = reader_.files().passed_over();
    resources_.progress->start("write lexicon", 0, "terms");
    LexiconBuilder::Counts counts;
    std::vector<docid_t> examples;
    tbb::parallel_invoke([&] { counts = lexicon_.finish(writer_); }, [&] { examples = count_duplicates(); });
    report_.terms = counts.terms;
    report_.tokens = counts.tokens;
    report_.postings = counts.postings;
    writer_.finish(manifest());
    if (report_.duplicates > 0 && options_.duplicates == Duplicates::refuse) refuse_duplicates(examples);
    resources_.progress->finish();
    return report_;
  }

 private:
  void start() {
    const std::uint64_t input_bytes = reader_.files().total_bytes();
    // Compressed corpora keep about their size, plain ones shrink to a third.
    check_free_space(resources_.tmp_folder, input_bytes / 3, "the collection");
    resources_.progress->start("parse", input_bytes, "bytes");
  }

  std::size_t jobs_in_flight() const {
    const std::uint64_t growth = batch_growth + (options_.store_text ? text_growth : 0);
    const std::uint64_t job_bytes = options_.reader.batch_bytes * growth;
    // The payload digests may take a quarter of the memory.
    const std::uint64_t memory = options_.pages.drop_copies ? resources_.memory_bytes / 4 : resources_.memory_bytes / 2;
    return std::clamp<std::uint64_t>(memory / job_bytes, 1, resources_.threads * 2);
  }

  void run_pipeline() {
    run_jobs(
        jobs_in_flight(), [&] { return std::make_unique<Job>(options_, resources_.tmp_folder); },
        [&](Job& job) { return read(job.batch); }, [&](Job& job) { build_in_memory(job); },
        [&](Job& job) {
          add(job);
          job.forget_chunks();
        });
  }

  /// Reads the next batch and chooses among its pages, which requires one batch of read-ahead.
  bool read(RecordBatch& batch) {
    if (!chooser_.chooses()) return reader_.next(batch);
    if (!has_begun_) has_batch_ahead_ = reader_.next(batch_ahead_);
    has_begun_ = true;
    if (!has_batch_ahead_) return false;
    std::swap(batch, batch_ahead_);
    has_batch_ahead_ = reader_.next(batch_ahead_);
    read_bytes_ += batch.compressed_bytes;
    if (!chooser_.choose(batch, has_batch_ahead_ ? &batch_ahead_ : nullptr)) refuse_payloads();
    return true;
  }

  [[noreturn]] void refuse_payloads() const {
    const std::uint64_t payloads = chooser_.payloads(), total_bytes = reader_.files().total_bytes();
    // Extrapolates from the part of the corpus read so far. The digests may take a quarter of the memory.
    const double share =
        total_bytes > read_bytes_ ? static_cast<double>(read_bytes_) / static_cast<double>(total_bytes) : 1;
    const auto expected = static_cast<std::uint64_t>(static_cast<double>(payloads) / std::max(share, 1e-6));
    throw InvalidArgument(
        "{}: the digests of {} distinct pages, after {:.0f} % of the corpus, fill the quarter of {} "
        "reserved for them; the whole corpus needs a {} of about {}",
        option_name<"drop-copies">, payloads, 100 * share, option_name<"memory">, option_name<"memory">,
        size_text(4 * DigestSet::bytes_for(expected)));
  }

  /// Builds a batch's chunks, to wait in memory for their turn. If they exceed the memory, as those of large documents
  /// may, add() builds and writes them one by one instead.
  void build_in_memory(Job& job) {
    job.is_built = job.builder.build(job.batch, job.parsed, [&](ParsedChunk& chunk) {
      if (job.num_chunks > 0) {
        auto reservation = waiting_chunks_.reserve(chunk.memory_bytes());
        if (!reservation) return false;
        job.reservations.push_back(std::move(*reservation));
      }
      if (job.num_chunks == job.chunks.size()) job.chunks.emplace_back();
      std::swap(job.chunks[job.num_chunks++], chunk);
      return true;
    });
    if (!job.is_built) job.forget_chunks();
  }

  void add(Job& job) {
    if (job.is_built) {
      for (std::size_t i = 0; i < job.num_chunks; ++i) add(job.chunks[i]);
    } else {
      job.builder.build(job.batch, job.parsed, [&](const ParsedChunk& chunk) {
        add(chunk);
        return true;
      });
    }
    add(job.parsed);
  }

  void add(const ParsedBatch& batch) {
    for (const BadDocument& bad : batch.bad) note_bad(bad);
    note(remarked_, batch.remarked, batch.remark);
    note(empty_, batch.empty, batch.first_empty);
    note(cut_, batch.cut, batch.first_cut);
    note(skipped_, batch.skipped, batch.first_skipped);
    report_.read += batch.records;
    report_.skipped += batch.skipped;
    report_.empty += batch.empty;
    report_.other_language += batch.other_language;
    report_.no_language += batch.no_language;
    report_.copies += batch.copies;
    report_.links += batch.links;
    report_.text_bytes += batch.text_bytes;
    report_.bytes += batch.bytes;
    if (report_.repaired_utf8 == 0 && batch.repaired_utf8 > 0)
      report_.first_repaired = place_and_reason(batch.first_repaired);
    report_.repaired_utf8 += batch.repaired_utf8;
    report_.cut_terms += batch.cut_terms;
    without_url_ += batch.without_url;
    title_tokens_ += batch.title_tokens;
    input_hash_ += batch.input_hash;
    resources_.progress->add(batch.compressed_bytes);
  }

  void add(const ParsedChunk& chunk) {
    for (const Hash128& hash : chunk.docno_hashes) {
      const std::uint64_t document = report_.indexed++;
      docnos_.add(SortKey(hash.low, hash.high).view(),
                  {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
    }
    if (report_.indexed >= end_docid)
      throw InvalidArgument("more than 2^32 - 2 documents: split the corpus into shards");
    writer_.add_chunk(chunk.packed);
    const bool is_unfinished = chunk.packed.row.unfinished;
    lexicon_.add_chunk({chunk.terms, chunk.df, chunk.cf, chunk.in_continued, chunk.in_unfinished, is_unfinished,
                        chunk.is_continued && is_unfinished && chunk.packed.row.documents == 0});
  }

  std::string place_and_reason(const BadDocument& document) const {
    return fmt::format("{}: byte {}{}: {}", reader_.file_name(document.file), document.offset,
                       document.in_stored_file ? " of the compressed file" : "", document.reason);
  }

  /// A remark on several documents, which names the first.
  struct Remark {
    std::uint64_t documents = 0;
    std::string first;
  };

  void note(Remark& remark, std::uint64_t documents, const BadDocument& first) const {
    if (remark.documents == 0 && documents > 0) remark.first = place_and_reason(first);
    remark.documents += documents;
  }

  void report(const Remark& remark) const {
    if (remark.documents == 0) return;
    const std::string total =
        remark.documents > 1 ? fmt::format(" ({} documents in total)", remark.documents) : std::string();
    resources_.progress->warn(remark.first + total);
  }

  void note_bad(const BadDocument& bad) {
    std::string line = place_and_reason(bad);
    if (bad.needs_options) throw InvalidArgument(line);
    if (++report_.bad > options_.max_errors && !options_.reader.skip_bad) {
      throw InvalidArgument(
          "more than {} bad documents, the last one in {}; fix the corpus, raise {}, or skip all bad documents with {}",
          options_.max_errors, line, option_name<"max-errors">, option_name<"skip-bad">);
    }
    if (report_.bad_documents.size() < max_reported_bad) report_.bad_documents.push_back(std::move(line));
  }

  void note_empty_corpus() const {
    const auto& empty = reader_.empty_files();
    const auto& skipped = reader_.skipped_files();
    std::string text = fmt::format("{}: no document to index ({} records read, {} skipped, {} bad)",
                                   empty.empty() ? reader_.files().file(0).path : empty.front(), report_.read,
                                   report_.skipped, report_.bad);
    if (report_.other_language + report_.no_language > 0)
      text += fmt::format("; {} excluded by {}, {} of which state no language",
                          report_.other_language + report_.no_language, option_name<"languages">, report_.no_language);
    if (!empty.empty()) text += "; the file is empty";
    if (!skipped.empty()) text += fmt::format("; {} is {}", skipped.front().path, skipped.front().why);
    if (!report_.bad_documents.empty()) text += "; the first bad one: " + report_.bad_documents.front();
    if (skipped_.documents > 0) text += "; the first one skipped: " + skipped_.first;
    // Records that were understood have a known format.
    const bool is_understood = report_.read > report_.bad && skipped.empty();
    text += std::string("; name another corpus") +
            (is_understood ? "" : std::string(", or specify its ") + option_name<"format">);
    if (!options_.may_be_empty) throw InvalidArgument(text);
    resources_.progress->warn(text);
  }

  /// Counts documents with the docno of an earlier one; returns some of them.
  std::vector<docid_t> count_duplicates() {
    std::vector<docid_t> examples;
    std::string last;  // empty at first
    docnos_.merge([&](std::string_view hash, ByteView document) {
      if (hash == last) {
        ++report_.duplicates;
        if (examples.size() < 3) examples.push_back(static_cast<docid_t>(load_le<std::uint64_t>(document.data())));
      }
      last = hash;
    });
    return examples;
  }

  [[noreturn]] void refuse_duplicates(const std::vector<docid_t>& examples) const {
    const CollectionReader collection(std::make_shared<const File>(out_.duplicate()));
    ChunkBuffers buffers;
    std::string names;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
      for (const docid_t document : examples) {
        const docid_t first = collection.first_document(chunk);
        if (document < first || document - first >= collection.chunk(chunk).documents) continue;
        names += fmt::format(" '{}'", collection.documents(chunk, buffers)[document - first].docno);
      }
    }
    throw InvalidArgument(
        "{}: {} documents repeat an earlier docno, such as{}; fix the corpus, or allow them with {} keep",
        reader_.files().file(0).path, report_.duplicates, names, option_name<"duplicates">);
  }

  CollectionManifest manifest() const {
    CollectionManifest manifest;
    manifest.analyzer = options_.analyzer;
    manifest.analyzer.keeps_words = options_.impacts.has_value();
    manifest.libraries = text_libraries(options_.analyzer);
    manifest.impacts = options_.impacts;
    if (options_.impacts) {
      // The corpus supplies its own terms.
      manifest.libraries = {};
      manifest.libraries.zstd = zstd_version();
    }
    manifest.corpus_format = options_.reader.format;
    manifest.max_document_bytes = options_.reader.max_document_bytes;
    manifest.field_names = options_.reader.field_names;
    manifest.duplicates = options_.duplicates;
    manifest.pages = options_.pages;
    manifest.documents = report_.indexed;
    manifest.empty_documents = report_.empty;
    manifest.documents_without_url = without_url_;
    manifest.terms = report_.terms;
    manifest.tokens = report_.tokens;
    manifest.title_tokens = title_tokens_;
    manifest.postings = report_.postings;
    manifest.links = report_.links;
    if (options_.store_text) manifest.text_bytes = report_.text_bytes;
    if (report_.bad > 0 && !options_.reader.skip_bad) {
      manifest.bad_documents = report_.bad;
      manifest.max_bad_documents = options_.max_errors;
    }
    manifest.input_hash = input_hash_;
    return manifest;
  }

  const ParseOptions& options_;
  const Resources& resources_;
  File& out_;
  CorpusReader reader_;
  CollectionWriter writer_;
  LexiconBuilder lexicon_;
  ExternalSort docnos_;          ///< hashes of docnos with document numbers
  MemoryBudget waiting_chunks_;  ///< for waiting chunks, except a batch's first
  PageChooser chooser_;
  RecordBatch batch_ahead_;  ///< read, but not yet returned
  bool has_begun_ = false, has_batch_ahead_ = false;
  std::uint64_t read_bytes_ = 0;  ///< stored bytes of the returned batches
  ParseReport report_;
  std::uint64_t without_url_ = 0, title_tokens_ = 0;
  Remark remarked_, empty_, cut_, skipped_;
  std::uint64_t input_hash_ = 0;
};

/// Only some formats have term weights, which bypass the analyzer.
void check_impacts(const ParseOptions& options) {
  if (!options.impacts) {
    if (!options.reader.field_names.vector.empty())
      throw InvalidArgument("{} names the key of term weights, which are read only with {}",
                            option_name<"vector-field">, option_name<"impacts">);
    return;
  }
  check_impact_settings(*options.impacts);
  const std::string& format = options.reader.format;
  if (format != "auto" && !corpus_format_named(format).gives_weights)
    throw InvalidArgument("the format {} has no term weights; {} needs jsonl", format, option_name<"impacts">);
  if (options.analyzer != AnalyzerOptions())
    throw InvalidArgument("weighted terms are used unchanged: {} can't be combined with a stemmer or stop words",
                          option_name<"impacts">);
}

/// Only some formats state languages.
void check_pages(const ParseOptions& options) {
  const std::vector<std::string>& languages = options.pages.languages;
  for (const std::string& language : languages)
    if (!is_language_code(language))
      throw InvalidArgument("{}: '{}' is not an ISO 639-3 code such as eng or deu", option_name<"languages">, language);
  if (std::adjacent_find(languages.begin(), languages.end(), std::greater_equal<>()) != languages.end())
    throw InvalidArgument("{} must be sorted, without duplicates", option_name<"languages">);
  const std::string& format = options.reader.format;
  if (!languages.empty() && format != "auto" && !corpus_format_named(format).states_languages)
    throw InvalidArgument("the format {} does not state languages; {} needs warc", format, option_name<"languages">);
}

}  // namespace

ParseReport parse_corpus(const ParseOptions& options, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    check_impacts(options);
    check_pages(options);
    return CorpusParser(options, resources, out).run();
  });
}

namespace {

/// A page's metadata is at most this many records after it. In Common Crawl's files it is the next one.
constexpr std::size_t max_distance = 3;

}  // namespace

void PageChooser::read_labels(const RecordBatch& batch, const RecordBatch* next) {
  labels_.clear();
  for (const RecordSpan& record : batch.records) labels_.push_back(record.format->labels(batch.text(record)));
  if (next == nullptr || choice_.languages.empty()) return;
  for (std::size_t i = 0; i < std::min(max_distance, next->records.size()); ++i)
    labels_.push_back(next->records[i].format->labels(next->text(next->records[i])));
}

const std::string& PageChooser::language_of(std::size_t page) const {
  const RecordLabels& labels = labels_[page];
  if (!labels.language.empty() || labels.id == Hash128()) return labels.language;
  for (std::size_t i = page + 1; i < std::min(labels_.size(), page + 1 + max_distance); ++i)
    if (labels_[i].describes == labels.id) return labels_[i].language;
  return labels.language;
}

LeftOut PageChooser::by_language(std::size_t page) const {
  if (choice_.languages.empty()) return LeftOut::no;
  const std::string& language = language_of(page);
  if (language.empty()) return LeftOut::no_language;
  const bool is_chosen = std::binary_search(choice_.languages.begin(), choice_.languages.end(), language);
  return is_chosen ? LeftOut::no : LeftOut::other_language;
}

bool PageChooser::choose(RecordBatch& batch, const RecordBatch* next) {
  read_labels(batch, next);
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    if (!labels_[i].may_be_document) continue;
    LeftOut& left_out = batch.records[i].left_out = by_language(i);
    if (left_out != LeftOut::no || !choice_.drop_copies || labels_[i].payload == Hash128()) continue;
    const DigestSet::Added added = payloads_.add(labels_[i].payload);
    if (added == DigestSet::Added::no_room) return false;
    if (added == DigestSet::Added::was_there) left_out = LeftOut::copy;
  }
  return true;
}

DigestSet::DigestSet(std::uint64_t max_bytes) : left_bytes_(max_bytes) {}

/// The slot of a place, or a free slot. There must be one.
DigestSet::Place* DigestSet::find(std::vector<Place>& places, const Place& sought) {
  std::size_t at = std::uint64_t{sought.words[0]} * places.size() >> 32;
  while (places[at].words[2] != 0 && !(places[at] == sought)) at = at + 1 == places.size() ? 0 : at + 1;
  return &places[at];
}

bool DigestSet::grow(Table& table) {
  constexpr std::size_t min_places = 16;
  const std::size_t size = std::max(min_places, table.places.size() + table.places.size() / 4);
  if (size * sizeof(Place) > left_bytes_) return false;
  std::vector<Place> places(size);
  for (const Place& place : table.places)
    if (place.words[2] != 0) *find(places, place) = place;
  left_bytes_ -= (size - table.places.size()) * sizeof(Place);
  table.places = std::move(places);
  return true;
}

DigestSet::Added DigestSet::add(const Hash128& digest) {
  Table& table = tables_[digest.high % tables_.size()];
  const Place place{{static_cast<std::uint32_t>(digest.low), static_cast<std::uint32_t>(digest.low >> 32),
                     static_cast<std::uint32_t>(digest.high >> 32) | 1}};
  if (!table.places.empty() && *find(table.places, place) == place) return Added::was_there;
  if ((table.used + 1) * 8 > table.places.size() * 7 && !grow(table)) return Added::no_room;
  *find(table.places, place) = place;
  ++table.used;
  ++count_;
  return Added::yes;
}

}  // namespace quern
