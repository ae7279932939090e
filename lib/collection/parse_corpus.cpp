#include "quern/collection/parse_corpus.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "quern/collection/chunk_builder.hpp"
#include "quern/collection/lexicon_builder.hpp"
#include "quern/core/bytes.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/core/size_text.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

constexpr std::size_t max_reported_bad = 100;
/// Memory of a batch in flight, as a multiple of its bytes: bytes, text, tokens, terms and frames.
constexpr std::uint64_t batch_growth = 6;

/// A batch on its way through the pipeline.
struct Job {
  RecordBatch batch;
  ParsedChunk chunk;
};

/// Reuses jobs and with them their buffers.
class JobPool {
 public:
  std::unique_ptr<Job> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Job>();
    auto job = std::move(free_.back());
    free_.pop_back();
    return job;
  }
  void give_back(std::unique_ptr<Job> job) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(job));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Job>> free_;
};

class CorpusParser {
 public:
  CorpusParser(const ParseOptions& options, const Resources& resources, File& out)
      : options_(options),
        resources_(resources),
        out_(out),
        files_(find_corpus_files(options.corpus)),
        reader_(files_, options.reader, resources),
        writer_(out, resources.tmp_folder),
        lexicon_(resources.tmp_folder, resources.memory_bytes / 4),
        docnos_(resources.tmp_folder, resources.memory_bytes / 32) {}

  ParseReport run() {
    start();
    run_pipeline();
    if (report_.indexed == 0) refuse_empty_corpus();
    report_.skipped_files = reader_.skipped_files();
    resources_.progress->start("lexicon", 0, "terms");
    const LexiconBuilder::Counts counts = lexicon_.finish(writer_);
    report_.terms = counts.terms;
    report_.tokens = counts.tokens;
    report_.postings = counts.postings;
    const std::vector<docid_t> examples = count_duplicates();
    writer_.finish(manifest());
    if (report_.duplicates > 0 && options_.duplicates == Duplicates::refuse) refuse_duplicates(examples);
    resources_.progress->finish();
    return report_;
  }

 private:
  void start() {
    std::uint64_t input_bytes = 0;
    for (const CorpusFile& file : files_) input_bytes += file.size_bytes;
    // Compressed corpora about keep their size, plain ones shrink to a third.
    check_free_space(resources_.tmp_folder, input_bytes / 3, "the collection");
    resources_.progress->start("parse", input_bytes, "bytes");
  }

  /// A large document is parsed in one piece, so the budget must hold it, its text and its tokens at once.
  void check_document_memory(const RecordBatch& batch) const {
    constexpr std::uint64_t document_growth = 8;
    for (const RecordSpan& record : batch.records) {
      if (record.size <= resources_.memory_bytes / document_growth) continue;
      throw InvalidArgument(
          fmt::format("{}: byte {}: a document of {} needs about {} of memory; raise --memory, or lower "
                      "--max-document to skip it",
                      reader_.file_name(record.file), record.file_offset, size_text(record.size),
                      size_text(record.size * document_growth)));
    }
  }

  std::size_t jobs_in_flight() const {
    const std::uint64_t job_bytes = options_.reader.batch_bytes * batch_growth;
    return std::clamp<std::uint64_t>(resources_.memory_bytes / 2 / job_bytes, 1, resources_.threads * 2);
  }

  void run_pipeline() {
    JobPool pool;
    tbb::enumerable_thread_specific<ChunkBuilder> builders(options_.analyzer, options_.reader.max_document_bytes);
    const auto read = [&](tbb::flow_control& control) -> Job* {
      auto job = pool.take();
      if (reader_.next(job->batch)) {
        check_document_memory(job->batch);
        return job.release();
      }
      control.stop();
      return nullptr;
    };
    const auto build = [&](Job* raw) {
      std::unique_ptr<Job> job(raw);
      builders.local().build(job->batch, job->chunk);
      return job.release();
    };
    const auto write = [&](Job* raw) {
      std::unique_ptr<Job> job(raw);
      add(job->chunk);
      pool.give_back(std::move(job));
    };
    tbb::parallel_pipeline(jobs_in_flight(),
                           tbb::make_filter<void, Job*>(tbb::filter_mode::serial_in_order, read) &
                               tbb::make_filter<Job*, Job*>(tbb::filter_mode::parallel, build) &
                               tbb::make_filter<Job*, void>(tbb::filter_mode::serial_in_order, write));
  }

  void add(const ParsedChunk& chunk) {
    for (const BadDocument& bad : chunk.bad) note_bad(bad);
    report_.read += chunk.records;
    report_.skipped += chunk.skipped;
    report_.empty += chunk.empty;
    report_.links += chunk.links;
    report_.bytes += chunk.bytes;
    report_.repaired_utf8 += chunk.repaired_utf8;
    report_.cut_terms += chunk.cut_terms;
    without_url_ += chunk.without_url;
    put_le(input_hashes_, chunk.input_hash);
    resources_.progress->add(chunk.compressed_bytes);
    if (chunk.packed.row.documents == 0) return;
    for (const Hash128& hash : chunk.docno_hashes) {
      const std::uint64_t document = report_.indexed++;
      docnos_.add(SortKey(hash.low, hash.high).view(),
                  {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
    }
    if (report_.indexed >= end_docid)
      throw InvalidArgument("more than 2^32 - 2 documents: split the corpus into shards");
    writer_.add_chunk(chunk.packed);
    lexicon_.add_chunk(chunk.terms, chunk.df, chunk.cf);
  }

  void note_bad(const BadDocument& bad) {
    std::string line = fmt::format("{}: byte {}: {}", reader_.file_name(bad.file), bad.offset, bad.reason);
    if (++report_.bad > options_.max_errors) {
      throw InvalidArgument(
          fmt::format("more than {} bad documents, the last in {}; mend the corpus, or raise --max-errors",
                      options_.max_errors, line));
    }
    if (report_.bad_documents.size() < max_reported_bad) report_.bad_documents.push_back(std::move(line));
  }

  [[noreturn]] void refuse_empty_corpus() const {
    const auto &empty = reader_.empty_files(), &skipped = reader_.skipped_files();
    std::string text =
        fmt::format("{}: no document to index ({} records read, {} skipped, {} bad)",
                    empty.empty() ? files_.front().path : empty.front(), report_.read, report_.skipped, report_.bad);
    if (!empty.empty()) text += "; the file is empty";
    if (!skipped.empty()) text += fmt::format("; {}: unknown corpus format", skipped.front());
    if (!report_.bad_documents.empty()) text += "; the first bad one: " + report_.bad_documents.front();
    throw InvalidArgument(text + "; name another corpus, or give its --format");
  }

  /// Counts documents whose docno an earlier one has; returns some of them.
  std::vector<docid_t> count_duplicates() {
    std::vector<docid_t> examples;
    std::string last;  // empty before the first
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
        fmt::format("{}: {} documents have the docno of an earlier one, such as{}; mend the corpus, or "
                    "allow them with --duplicates keep",
                    files_.front().path, report_.duplicates, names));
  }

  CollectionManifest manifest() const {
    CollectionManifest manifest;
    manifest.analyzer = options_.analyzer;
    manifest.libraries = text_libraries(options_.analyzer);
    manifest.corpus_format = options_.reader.format;
    manifest.max_document_bytes = options_.reader.max_document_bytes;
    manifest.duplicates = options_.duplicates;
    manifest.documents = report_.indexed;
    manifest.empty_documents = report_.empty;
    manifest.documents_without_url = without_url_;
    manifest.terms = report_.terms;
    manifest.tokens = report_.tokens;
    manifest.postings = report_.postings;
    manifest.links = report_.links;
    manifest.input_hash = hash_text(xxh3(input_hashes_));
    return manifest;
  }

  const ParseOptions& options_;
  const Resources& resources_;
  File& out_;
  std::vector<CorpusFile> files_;
  CorpusReader reader_;
  CollectionWriter writer_;
  LexiconBuilder lexicon_;
  ExternalSort docnos_;  ///< hashes of docnos with the documents' numbers
  ParseReport report_;
  std::uint64_t without_url_ = 0;
  Bytes input_hashes_;
};

}  // namespace

ParseReport parse_corpus(const ParseOptions& options, const Resources& resources, File& out) {
  return run_stage(resources, [&] { return CorpusParser(options, resources, out).run(); });
}

}  // namespace quern
