#include "quern/index/exchange/interchange_format.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Releases pages of a mapped index during a sequential read, some MiB at a time.
class PassedPages {
 public:
  explicit PassedPages(const IndexReader& index) : container_(index.container()) {}
  /// Notes that about this many bytes were read.
  void note(std::uint64_t bytes) {
    constexpr std::uint64_t bytes_per_release = 4 << 20;
    passed_ += bytes;
    if (passed_ < bytes_per_release) return;
    container_.release();
    passed_ = 0;
  }

 private:
  const ContainerReader& container_;
  std::uint64_t passed_ = 0;
};

/// Approximate bytes of a list without its term and postings, and of a document without its docno.
constexpr std::uint64_t list_row_bytes = 32, document_row_bytes = 8;

void export_list(const IndexReader& index, std::string_view term, const PostingList& list, PassedPages& pages,
                 InvertedSink& sink) {
  PostingCheck check(index.num_documents());
  BlockReader reader(index, list);
  std::uint64_t postings = 0;
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    const auto docids = reader.docids();
    const auto freqs = reader.freqs();
    for (std::size_t i = 0; i < docids.size(); ++i) {
      if (const char* wrong = check.wrong(docids[i], freqs[i]))
        index.container().fail("postings", fmt::format("the list of '{}': {}", term, wrong));
      sink.add_posting(docids[i], freqs[i]);
    }
    postings += docids.size();
    pages.note(docids.size_bytes() + freqs.size_bytes());
  }
  pages.note(term.size() + list_row_bytes);
  if (postings != list.df)
    index.container().fail("postings", fmt::format("the df of '{}' differs from the length of its list", term));
  sink.end_list(term);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

bool is_ds2i(const std::string& path) { return is_file(path + ds2i_endings.front()); }

void read_ciff_file(const std::string& path, InvertedSink& sink, const Resources& resources) {
  read_ciff(*ByteSource::open(path, resources), sink);
}

void write_ciff_file(const IndexReader& index, const std::string& path, bool force, const Resources& resources) {
  run_stage(resources, [&] {
    AtomicOutput out = AtomicOutput::file(path, force);
    CiffWriter writer(out.file(), resources.tmp_folder);
    export_index(index, writer, *resources.progress);
    out.commit();
  });
}

void read_ds2i_files(const std::string& path, InvertedSink& sink, const Resources& resources) {
  std::array<std::unique_ptr<ByteSource>, ds2i_endings.size()> sources;
  const std::uint64_t max_window_bytes = ByteSource::max_window_bytes(resources) / 2;  // each of the five files
  for (std::size_t i = 0; i < sources.size(); ++i)
    sources[i] = ByteSource::open(path + ds2i_endings[i], nullptr, max_window_bytes);
  read_ds2i({*sources[0], *sources[1], *sources[2], *sources[3], *sources[4]}, sink);
}

void write_ds2i_files(const IndexReader& index, const std::string& path, bool force, const Resources& resources) {
  run_stage(resources, [&] {
    std::vector<std::unique_ptr<AtomicOutput>> outputs;
    std::array<File*, ds2i_endings.size()> files{};
    for (std::size_t i = 0; i < files.size(); ++i) {
      outputs.push_back(
          std::unique_ptr<AtomicOutput>(new AtomicOutput(AtomicOutput::file(path + ds2i_endings[i], force))));
      files[i] = &outputs.back()->file();
    }
    Ds2iWriter writer(files, resources.tmp_folder);
    export_index(index, writer, *resources.progress);
    AtomicOutput::commit_together(outputs);
  });
}

}  // namespace

void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress) {
  const IndexManifest& manifest = index.manifest();
  sink.begin({manifest.terms, manifest.documents, manifest.statistics.documents, manifest.statistics.tokens});
  progress.start("export lists", manifest.postings, "postings");
  PassedPages pages(index);
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      export_list(index, term, list, pages, sink);
      progress.add(list.df);
    });
  }
  progress.finish();
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const std::string_view docno = index.docno(docid);
    sink.add_document(docno, index.length(docid));
    pages.note(docno.size() + document_row_bytes);
  }
  sink.end();
}

std::span<const InterchangeFormat> all_interchange_formats() {
  static constexpr InterchangeFormat formats[] = {
      {"ciff", "Common Index File Format: one file",
       [](const std::string& path) { return path == "-" || is_file(path); }, read_ciff_file, write_ciff_file},
      {"ds2i", "binary collection of ds2i and PISA: PATH.docs, .freqs, .sizes, .terms, .documents", is_ds2i,
       read_ds2i_files, write_ds2i_files},
      {"pisa", "the same as ds2i", is_ds2i, read_ds2i_files, write_ds2i_files, "ds2i"},
  };
  return formats;
}

const InterchangeFormat& interchange_format_named(std::string_view name) {
  const InterchangeFormat& format = find_named(all_interchange_formats(), name, "inverted-file format");
  return format.alias_of.empty() ? format : interchange_format_named(format.alias_of);
}

const InterchangeFormat& detect_interchange_format(const std::string& path) {
  for (const InterchangeFormat& format : all_interchange_formats())
    if (format.is_at(path)) return format;
  throw InvalidArgument(path + ": neither this file nor " + path + ds2i_endings.front() + " exists");
}

namespace {

/// A hash of content that arrives in small pieces.
class ContentHash {
 public:
  void add(ByteView bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    if (pending_.size() >= (64 << 10)) fold();
  }
  template <class Number>
  void add_number(Number number) {
    std::uint8_t bytes[sizeof number];
    store_le(bytes, number);
    add(bytes);
  }
  std::uint64_t value() {
    fold();
    return value_;
  }

 private:
  void fold() {
    put_le(pending_, value_);
    value_ = xxh3(pending_);
    pending_.clear();
  }

  Bytes pending_;
  std::uint64_t value_ = 0;
};

class IndexImport : public InvertedSink {
 public:
  IndexImport(const ImportOptions& options, const Resources& resources, File& out)
      : options_(options), resources_(resources), out_(out) {}

  void begin(const InvertedCounts& counts) override {
    counts_ = counts;
    assembly_ = std::make_unique<IndexAssembly>(
        AssemblyPlan{{counts.documents}, options_.build, resources_, out_, options_.source});
    documents_.emplace(assembly_->plan());
    lists_.emplace(options_.source, resources_.tmp_folder, assembly_->working_bytes() / 4);
    sums_.resize(counts.documents);
    lengths_.reserve(counts.documents);
    resources_.progress->start("read lists", counts.lists, "lists");
  }

  void add_posting(docid_t docid, freq_t freq) override {
    const auto& impacts = options_.build.impacts;
    if (impacts && freq > impacts->max_weight() && !too_large_) too_large_ = {docid, freq};
    lists_->add_posting(docid, freq);
    std::uint32_t& sum = sums_[docid];
    exact_ = exact_ && freq <= UINT32_MAX - sum;
    sum += freq;
    hash_.add_number(docid);
    hash_.add_number(freq);
  }

  void end_list(std::string_view term) override {
    if (too_large_) refuse_weight(term);
    lists_->end_list(term);
    hash_.add(as_bytes(term));
    hash_.add_number(term.size());
    resources_.progress->add(1);
  }

  void add_document(std::string_view docno, std::uint32_t length) override {
    const auto docid = static_cast<docid_t>(lengths_.size());
    exact_ = exact_ && length == sums_[docid];
    lengths_.push_back(length);
    documents_->add(docid, docno, {}, {});
    hash_.add(as_bytes(docno));
    hash_.add_number(docno.size());
    hash_.add_number(length);
  }

  void end() override {
    resources_.progress->finish();
    sums_ = {};
  }

  BuildReport write_index() {
    const CollectionStatistics statistics = this->statistics();
    lists_->sort();
    assembly_->write_lists(std::move(lengths_), statistics, *lists_->lists(), lists_->postings(),
                           [&](term_t term) { return lists_->term_at(term); });
    assembly_->write_documents(std::move(*documents_));
    IndexManifest manifest;
    manifest.analyzer = options_.analyzer;
    manifest.analyzer.keeps_words = options_.build.impacts.has_value();
    manifest.corpus_format = options_.format;
    manifest.lengths = exact_ ? Lengths::exact : Lengths::lossy;
    manifest.collection_hash = hash_text(hash_.value());
    return assembly_->finish(std::move(manifest));
  }

 private:
  CollectionStatistics statistics() const {
    CollectionStatistics statistics{counts_.total_documents, counts_.total_tokens};
    if (statistics.tokens == 0)
      for (const std::uint32_t length : lengths_) statistics.tokens += length;
    return statistics;
  }

  /// The term comes after its postings.
  [[noreturn]] void refuse_weight(std::string_view term) const {
    const ImpactSettings& impacts = *options_.build.impacts;
    throw InvalidArgument(
        "{}: the term {} has the weight {} in document {}, but weights of {} bits can be at most {}; allow more with "
        "{}, up to 16",
        options_.source, quoted_start(term), too_large_->second, too_large_->first, impacts.bits, impacts.max_weight(),
        option_name<"impacts">);
  }

  const ImportOptions& options_;
  const Resources& resources_;
  File& out_;
  InvertedCounts counts_;
  std::unique_ptr<IndexAssembly> assembly_;
  std::optional<DocumentSort> documents_;
  std::optional<ListStore> lists_;
  std::vector<std::uint32_t> sums_, lengths_;
  ContentHash hash_;
  bool exact_ = true;
  std::optional<std::pair<docid_t, freq_t>> too_large_;  ///< the list's first posting above the largest weight
};

}  // namespace

BuildReport import_index(const std::function<void(InvertedSink&)>& read, const ImportOptions& options,
                         const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    check_build_options(options.build);
    IndexImport import(options, resources, out);
    read(import);
    return import.write_index();
  });
}

class ListStore::Source : public ListSource {
 public:
  explicit Source(const ListStore& store) : store_(store), rows_(store.rows_) {}

  bool next(ListBatch& batch) override {
    const Row* row = rows_.peek();
    if (!row) return false;
    if (row->postings > store_.max_list_postings_) {
      batch = LongList{term_++, row->postings, store_.postings_, row->first_posting};
      rows_.pop();
      return true;
    }
    OwnedLists lists;
    while (row && row->postings <= store_.max_list_postings_ && lists.postings.size() < list_batch_postings) {
      take_list(*row, lists.postings);
      rows_.pop();
      row = rows_.peek();
    }
    batch = std::move(lists);
    return true;
  }

 private:
  void take_list(const Row& list, std::vector<Posting>& postings) {
    spooled_.resize(list.postings);
    store_.postings_->read(list.first_posting, spooled_);
    for (const SpooledPosting& posting : spooled_) postings.push_back({term_, posting.docid, posting.freq});
    ++term_;
  }

  const ListStore& store_;
  RecordSpool<Row>::Reader rows_;
  term_t term_ = 0;
  std::vector<SpooledPosting> spooled_;
};

ListStore::ListStore(std::string source, const std::string& tmp_folder, std::uint64_t memory_bytes)
    : source_(std::move(source)),
      // Several batches are in flight at once.
      max_list_postings_(std::clamp<std::uint64_t>(memory_bytes / 16 / sizeof(Posting), 1024, 64 << 10)),
      postings_(std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder)),
      sorted_terms_(tmp_folder, memory_bytes),
      rows_(tmp_folder),
      terms_(tmp_folder) {}

void ListStore::end_list(std::string_view term) {
  if (postings() == list_begin_) return;
  Bytes payload;
  put_le(payload, list_begin_);
  put_le(payload, postings() - list_begin_);
  sorted_terms_.add(term, payload);
  list_begin_ = postings();
}

void ListStore::sort() {
  std::string last;
  sorted_terms_.merge([&](std::string_view term, ByteView payload) {
    if (rows_.count() > 0 && term == last) throw CorruptFile(source_ + ": the term '" + last + "' has two lists");
    last = term;
    terms_.append(as_bytes(term));
    Row row;
    row.first_posting = load_le<std::uint64_t>(payload.data());
    row.postings = load_le<std::uint64_t>(payload.data() + 8);
    row.term_end = terms_.size();
    rows_.add(row);
    if (rows_.count() >= end_docid) throw InvalidArgument("the file has more terms than an index can hold (2^32 - 2)");
  });
  term_rows_.emplace(rows_);
}

std::unique_ptr<ListSource> ListStore::lists() const { return std::make_unique<Source>(*this); }

std::string_view ListStore::term_at(term_t number) {
  for (; next_term_ <= number; ++next_term_, term_rows_->pop()) {
    const std::uint64_t end = term_rows_->peek()->term_end;
    if (next_term_ == number) {
      term_.resize(end - term_begin_);
      terms_.read_array(term_begin_, std::span(term_));
    }
    term_begin_ = end;
  }
  return term_;
}

}  // namespace quern
