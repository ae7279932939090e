#include "quern/api/internal/index_settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <variant>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/stage_reports.hpp"
#include "quern/formats/container.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"

namespace quern::api {
namespace {

AnalyzerOptions analyzer_of(const IndexOptions& options) {
  return make_analyzer_options(options.stemmer, options.stopwords, options.language);
}

std::optional<OrderBy> order_by(const IndexOptions& options) {
  if (options.order == "auto") return std::nullopt;
  return find_named(order_names, options.order, "docID order").value;
}

PagerankInput pagerank_of(const IndexOptions& options) {
  PagerankInput input;
  try {
    input = pagerank_input(options.pagerank, options.links);
  } catch (const InvalidArgument& wrong) {
    throw WrongUsage(wrong.what());
  }
  const auto by = order_by(options);
  if (by && input.from == PagerankFrom::nothing && order_method(*by).needs_pagerank)
    throw WrongUsage("{}: none: the order {} needs PageRank; use links, or a file", option_name<"pagerank">,
                     options.order);
  return input;
}

std::optional<ImpactSettings> impacts_of(const IndexOptions& options) {
  if (options.impact_bits == 0) {
    if (options.impact_scale) throw WrongUsage("{} needs {}", option_name<"impact-scale">, option_name<"impacts">);
    return std::nullopt;
  }
  if (analyzer_of(options) != AnalyzerOptions())
    throw WrongUsage("{} uses terms unchanged; omit {}, {} and {}", option_name<"impacts">, option_name<"language">,
                     option_name<"stemmer">, option_name<"stopwords">);
  return ImpactSettings{options.impact_bits, options.impact_scale};
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> identity_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_dev, status.st_ino};
}

}  // namespace

WrittenFile::WrittenFile(const std::string& path) {
  std::vector<std::string> names{without_end_slashes(path)};
  for (const std::string& member : index_members()) names.push_back(names.front() + "/" + member);
  for (const std::string& name : names)
    if (const auto identity = identity_of(name)) identities_.push_back(*identity);
}

bool WrittenFile::is(const std::string& path) const {
  const auto identity = identity_of(path);
  return identity && std::find(identities_.begin(), identities_.end(), *identity) != identities_.end();
}

IndexSettings index_settings(const IndexOptions& options) {
  IndexSettings settings;
  settings.parse.analyzer = analyzer_of(options);
  settings.parse.reader.field_names.kept = options.keep_fields;
  settings.parse.max_errors = options.max_errors;
  settings.parse.duplicates = options.refuse_duplicates ? Duplicates::refuse : Duplicates::keep;
  settings.parse.store_text = options.store_text;
  settings.parse.impacts = impacts_of(options);
  settings.by = order_by(options);
  settings.order.by = settings.by.value_or(OrderBy::natural);
  settings.order.seed = options.seed;
  settings.order.scores.alpha = options.alpha;
  settings.order.scores.pagerank_scale = find_named(pagerank_scales, options.pagerank_scale, "PageRank scale").value;
  settings.order.scores.bm25 = {options.k1, options.b};
  settings.pagerank = pagerank_of(options);
  settings.build.codec = options.codec;
  settings.build.codec_options.block_size = options.block_size;
  settings.build.codec_options.recursion = options.recursion;
  settings.build.bm25 = {options.k1, options.b};
  settings.build.quantize_bits = options.quantize_bits;
  if (!options.weights.empty()) settings.build.weighting = read_weighting(options.weights);
  settings.build.impacts = settings.parse.impacts;
  settings.build.allow_empty = options.allow_empty;
  settings.forward = options.forward;
  check_build_options(settings.build);
  return settings;
}

IndexSettings index_settings(const std::vector<std::string>& corpus, const IndexOptions& options,
                             const CorpusOptions& reading, const Resources& resources) {
  IndexSettings settings = index_settings(options);
  ParseOptions& parse = settings.parse;
  parse.corpus = corpus;
  if (!reading.files_from.empty())
    parse.list = std::make_shared<const FileList>(reading.files_from, reading.files_root, resources);
  parse.files = {reading.include, reading.exclude};
  parse.reader.format = reading.format;
  parse.reader.field_names = {reading.id_field,  reading.title_field,  reading.text_field,
                              reading.url_field, reading.vector_field, std::move(parse.reader.field_names.kept)};
  parse.reader.max_document_bytes = reading.max_document_bytes;
  parse.reader.skip_bad = reading.skip_bad;
  parse.pages = {sorted_languages(reading.languages), reading.drop_copies};
  return settings;
}

void refuse_overwritten_corpus(const ParseOptions& options, const std::string& output) {
  const WrittenFile written(output);
  if (!written.exists()) return;
  std::string overwritten;
  const auto check = [&](const CorpusFile& file) {
    if ((options.list || file.found_in_folder) && written.is(file.path)) overwritten = file.path;
  };
  if (options.list)
    for_each_corpus_file(*options.list, options.files, check);
  else
    for_each_corpus_file(options.corpus, options.files, check);
  if (overwritten.empty()) return;
  throw WrongUsage("{} {}: would overwrite {}, a file of the corpus; choose another name, or exclude the file{}",
                   option_name<"output">, output, overwritten,
                   options.list ? std::string() : fmt::format(" with {}", option_name<"exclude">));
}

namespace {

/// Moves the index into place, with remarks and a report.
IndexReport finish_index(const IndexReports& reports, const std::string& path, AtomicOutput& out,
                         WorkProgress& progress) {
  progress.check_stop();
  out.commit();
  progress.finish();
  const auto remark = [&](const std::string& text) { progress.remark(text); };
  remark_on(reports.build, path, remark);
  remark_on(reports.beside, remark);
  IndexReport report;
  report.documents = reports.parse.indexed;
  report.empty = reports.parse.empty;
  report.skipped = reports.parse.skipped;
  report.bad = reports.parse.bad;
  report.left_out = reports.parse.other_language + reports.parse.no_language + reports.parse.copies;
  report.duplicates = reports.parse.duplicates;
  report.terms = reports.parse.terms;
  report.tokens = reports.parse.tokens;
  report.postings = reports.parse.postings;
  report.index_bytes = reports.build.index_bytes;
  report.bad_documents = spelled(reports.parse.bad_documents);
  report.figures = figures_of(reports).dump(1);
  return report;
}

/// Makes remarks on the first stages when they end.
StageReports remarks_of_stages(WorkProgress& progress) {
  const auto remark = [&progress](const std::string& text) { progress.remark(text); };
  return {[remark](const ParseReport& parsed) { remark_on(parsed, remark); },
          [remark](const PagerankReport& pagerank) { remark_on(pagerank, remark); }};
}

}  // namespace

/// A queue of bytes from the thread that adds documents to those that parse them. Holds a few buffers.
class DocumentStream : public ByteSource {
 public:
  /// Adds a buffer; waits while the queue is full. Returns false and drops the buffer once reading has stopped.
  bool put(std::string&& buffer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return buffers_.size() < max_buffers || stopped_; });
    if (stopped_) return false;
    if (!buffer.empty()) buffers_.push_back(std::move(buffer));
    changed_.notify_all();
    return true;
  }
  /// Ends the stream.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  /// Ends the stream with an error, which read() throws.
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    changed_.notify_all();
  }

  std::size_t read(std::span<std::uint8_t> to) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !buffers_.empty() || finished_ || stopped_ || error_; });
    if (error_) std::rethrow_exception(error_);
    if (buffers_.empty() || stopped_) return 0;
    const std::string& buffer = buffers_.front();
    const std::size_t size = std::min(to.size(), buffer.size() - consumed_);
    std::memcpy(to.data(), buffer.data() + consumed_, size);
    consumed_ += size;
    bytes_read_ += size;
    if (consumed_ == buffer.size()) {
      buffers_.pop_front();
      consumed_ = 0;
      changed_.notify_all();
    }
    return size;
  }
  void stop() noexcept override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

 private:
  static constexpr std::size_t max_buffers = 4;

  const std::string name_ = "documents";  ///< in messages
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> buffers_;
  std::size_t consumed_ = 0;  ///< bytes of the first buffer
  std::uint64_t bytes_read_ = 0;
  bool finished_ = false, stopped_ = false;
  std::exception_ptr error_;
};

namespace {

/// Bytes that JSON strings can't hold as they are.
constexpr std::array<bool, 256> make_escaped_bytes() {
  std::array<bool, 256> is_escaped{};
  for (unsigned byte = 0; byte < 0x20; ++byte) is_escaped[byte] = true;
  is_escaped['"'] = is_escaped['\\'] = true;
  return is_escaped;
}
constexpr std::array<bool, 256> escaped_bytes = make_escaped_bytes();

void append_escaped(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (byte) {
    case '"':
    case '\\':
      out += '\\';
      out += static_cast<char>(byte);
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!escaped_bytes[byte]) continue;
    out.append(text, copied, i - copied);
    append_escaped(out, byte);
    copied = i + 1;
  }
  out.append(text, copied, text.size() - copied);
  out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[32];
  const std::string_view text(
      digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
  out += text;
  if (text == "-0") out += ".0";  // without it, readers take it for an integer, which has no sign
}

void append_vector(std::string& out, std::span<const WeightedTerm> vector) {
  out += ",\"vector\":{";
  for (const WeightedTerm& term : vector) {
    if (out.back() != '{') out += ',';
    append_string(out, term.term);
    out += ':';
    append_number(out, term.weight);
  }
  out += '}';
}

void append_field(std::string& out, const KeptField& field) {
  out += ',';
  append_string(out, field.name);
  out += ':';
  if (const auto* text = std::get_if<std::string_view>(&field.value))
    append_string(out, *text);
  else if (const auto* number = std::get_if<double>(&field.value))
    append_number(out, *number);
  else if (const auto* integer = std::get_if<std::int64_t>(&field.value))
    append_number(out, *integer);
  else
    out += std::get<bool>(field.value) ? "true" : "false";
}

/// Appends a document as a line of formats/corpus/jsonl.md, with an empty vector, too, if `with_vector`.
void append_json_line(std::string& out, const NewDocument& document, bool with_vector) {
  out += "{\"id\":";
  append_string(out, document.docno);
  if (!document.url.empty()) {
    out += ",\"url\":";
    append_string(out, document.url);
  }
  if (!document.title.empty()) {
    out += ",\"title\":";
    append_string(out, document.title);
  }
  out += ",\"contents\":";
  append_string(out, document.text);
  if (with_vector || !document.vector.empty()) append_vector(out, document.vector);
  for (const KeptField& field : document.fields) append_field(out, field);
  out += "}\n";
}

constexpr std::size_t buffer_bytes = 256 << 10;

void check_docno(std::string_view docno, std::uint64_t number) {
  constexpr std::size_t max_bytes = 65535;
  const bool has_control =
      std::any_of(docno.begin(), docno.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (docno.empty() || docno.size() > max_bytes || has_control)
    throw InvalidArgument("document number {}: a docno must have 1 to {} bytes and no control characters", number,
                          max_bytes);
}

void check_vector(const NewDocument& document) {
  for (const WeightedTerm& term : document.vector)
    if (!(term.weight >= 0) || !std::isfinite(term.weight) || term.term.empty())
      throw InvalidArgument(
          "document {}: the weight of '{}' must be a non-negative number, and terms must not be empty", document.docno,
          term.term);
}

void check_field(const NewDocument& document, const KeptField& field, const std::vector<std::string>& kept) {
  const auto refuse = [&](std::string_view why) {
    throw InvalidArgument("document {}: the field '{}' {}", document.docno, field.name, why);
  };
  if (std::find(kept.begin(), kept.end(), field.name) == kept.end())
    refuse(fmt::format("is not listed in {}", option_name<"keep-fields">));
  if (const auto* text = std::get_if<std::string_view>(&field.value); text && text->size() > max_kept_text_bytes)
    refuse(fmt::format("is a string of more than {} bytes", max_kept_text_bytes));
  if (const auto* number = std::get_if<double>(&field.value); number && !std::isfinite(*number))
    refuse("has a number that is not finite");
}

}  // namespace

/// The stages run in a thread of their own, which reads the added documents.
struct IndexBuilder::Impl {
  Impl(const std::string& path, const IndexOptions& options, const Work& work)
      : resources(work, folder_of(path)),
        settings(index_settings(options)),
        out(AtomicOutput::folder(path, index_members(), options.overwrite)),
        stream(std::make_shared<DocumentStream>()) {
    settings.parse.source = stream;
    settings.parse.reader.format = "jsonl";
    // A document in a program's memory is not refused for its size.
    settings.parse.reader.max_document_bytes = quern::CorpusOptions::largest_max_document;
    reports = std::async(std::launch::async, [this] {
      return make_index(settings, resources, out, remarks_of_stages(resources.progress()));
    });
  }
  ~Impl() {
    stream->fail(std::make_exception_ptr(Cancelled("the index was abandoned before it was finished")));
    if (reports.valid()) reports.wait();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void check_open() const {
    if (!reports.valid())
      throw InvalidArgument("the index is already finished, or building it failed; create a new one");
  }
  void hand_over() {
    std::string full = std::exchange(buffer, {});
    buffer.reserve(buffer_bytes + buffer_bytes / 4);
    if (!stream->put(std::move(full))) reports.get();  // throws why reading ended
  }

  WorkResources resources;
  IndexSettings settings;
  AtomicOutput out;
  std::shared_ptr<DocumentStream> stream;
  std::string buffer;  ///< documents not handed over yet
  std::uint64_t added = 0;
  std::future<IndexReports> reports;  ///< valid until the index is finished or has failed
};

IndexBuilder::IndexBuilder(const std::string& path, const IndexOptions& options, const Work& work)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(path, options, work); })) {}

void IndexBuilder::add(const NewDocument& document) {
  with_api_errors([&] {
    impl_->check_open();
    check_docno(document.docno, impl_->added + 1);
    check_vector(document);
    const std::vector<std::string>& kept = impl_->settings.parse.reader.field_names.kept;
    for (const KeptField& field : document.fields) check_field(document, field, kept);
    append_json_line(impl_->buffer, document, impl_->settings.parse.impacts.has_value());
    ++impl_->added;
    if (impl_->buffer.size() >= buffer_bytes) {
      impl_->resources.progress().check_stop();
      impl_->hand_over();
    }
  });
}

IndexReport IndexBuilder::finish() {
  return with_api_errors([&] {
    impl_->check_open();
    if (impl_->added == 0)
      throw InvalidArgument(impl_->out.path() + ": no document was added: there is nothing to index");
    impl_->hand_over();
    impl_->stream->finish();
    return finish_index(impl_->reports.get(), impl_->out.path(), impl_->out, impl_->resources.progress());
  });
}

IndexReport build_index(const std::vector<std::string>& corpus, const std::string& path, const IndexOptions& options,
                        const CorpusOptions& reading, const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, folder_of(path));
    const IndexSettings settings = index_settings(corpus, options, reading, resources);
    refuse_overwritten_corpus(settings.parse, path);
    AtomicOutput out = AtomicOutput::folder(path, index_members(), options.overwrite);
    const IndexReports reports = make_index(settings, resources, out, remarks_of_stages(resources.progress()));
    return finish_index(reports, path, out, resources.progress());
  });
}

}  // namespace quern::api
