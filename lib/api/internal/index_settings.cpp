#include "quern/api/internal/index_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>
#include <variant>

#include "quern/api/index_builder.hpp"
#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/document_stream.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/error.hpp"
#include "quern/core/named.hpp"
#include "quern/core/option_name.hpp"
#include "quern/formats/container.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"

namespace quern::api {
IndexSettings index_settings(const IndexOptions& options) {
  IndexSettings settings;
  settings.parse.analyzer = make_analyzer_options(options.stemmer, options.stopwords);
  settings.parse.max_errors = options.max_errors;
  settings.parse.duplicates = options.refuse_duplicates ? Duplicates::refuse : Duplicates::keep;
  settings.parse.store_text = options.store_text;
  if (options.order != "auto") settings.by = find_named(order_names, options.order, "docID order").value;
  settings.order.seed = options.seed;
  settings.order.scores.alpha = options.alpha;
  settings.order.scores.pagerank_scale = find_named(pagerank_scales, options.pagerank_scale, "PageRank scale").value;
  settings.pagerank = pagerank_input(options.pagerank, options.links);
  settings.build.codec = options.codec;
  settings.build.codec_options.block_size = options.block_size;
  settings.build.codec_options.recursion = options.recursion;
  settings.build.bm25 = {options.k1, options.b};
  settings.build.quantize_bits = options.quantize_bits;
  if (options.impact_bits != 0) {
    settings.parse.impacts = ImpactSettings{options.impact_bits, options.impact_scale};
    settings.build.impacts = settings.parse.impacts;
  } else if (options.impact_scale) {
    throw InvalidArgument(std::string(option_name<"impact-scale">) + " needs " + option_name<"impacts">);
  }
  settings.forward = options.forward;
  check_build_options(settings.build);
  return settings;
}

IndexReport index_report(const IndexReports& reports) {
  IndexReport out;
  out.documents = reports.parse.indexed;
  out.empty = reports.parse.empty;
  out.skipped = reports.parse.skipped;
  out.bad = reports.parse.bad;
  out.left_out = reports.parse.other_language + reports.parse.no_language + reports.parse.copies;
  out.duplicates = reports.parse.duplicates;
  out.terms = reports.parse.terms;
  out.tokens = reports.parse.tokens;
  out.postings = reports.parse.postings;
  out.index_bytes = reports.build.index_bytes;
  for (const std::string& bad : reports.parse.bad_documents) out.bad_documents.push_back(with_program_names(bad));
  return out;
}

namespace {

constexpr std::size_t piece_bytes = 256 << 10;

void check_docno(std::string_view docno) {
  constexpr std::size_t most = 65535;
  const bool has_control =
      std::any_of(docno.begin(), docno.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (docno.empty() || docno.size() > most || has_control)
    throw InvalidArgument(fmt::format("a docno must have 1 to {} bytes and no control characters", most));
}

void check_vector(const NewDocument& document) {
  for (const WeightedTerm& term : document.vector)
    if (!(term.weight >= 0) || !std::isfinite(term.weight) || term.term.empty())
      throw InvalidArgument(
          fmt::format("document {}: the weight of '{}' must be a non-negative number, and terms must not be empty",
                      document.docno, term.term));
}

void check_field(const NewDocument& document, const KeptField& field, const std::vector<std::string>& kept) {
  const auto refuse = [&](std::string_view why) {
    throw InvalidArgument(fmt::format("document {}: the field '{}' {}", document.docno, field.name, why));
  };
  if (std::find(kept.begin(), kept.end(), field.name) == kept.end())
    refuse(fmt::format("is not listed in {}", option_name<"keep-fields">));
  if (const auto* text = std::get_if<std::string_view>(&field.value); text && text->size() > max_kept_text_bytes)
    refuse(fmt::format("is a string of more than {} bytes", max_kept_text_bytes));
  if (const auto* number = std::get_if<double>(&field.value); number && !std::isfinite(*number))
    refuse("has a number that is not finite");
}

}  // namespace

/// The stages run in a thread of their own, which reads what is added.
struct IndexBuilder::Impl {
  Impl(const std::string& path, const IndexOptions& options, const Work& work)
      : resources(work, folder_of(path)),
        settings(index_settings(options)),
        out(AtomicOutput::folder(path, index_members(), options.overwrite)),
        stream(std::make_shared<DocumentStream>("documents")) {
    settings.parse.source = stream;
    settings.parse.reader.format = "jsonl";
    settings.parse.reader.field_names.kept = options.keep_fields;
    // A document that a program has in memory is not refused for its size.
    settings.parse.reader.max_document_bytes = quern::CorpusOptions::largest_max_document;
    reports = std::async(std::launch::async, [this] { return make_index(settings, resources, out); });
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
    std::string piece = std::exchange(buffer, {});
    buffer.reserve(piece_bytes + piece_bytes / 4);
    if (!stream->put(std::move(piece))) reports.get();  // throws why nobody reads
  }

  WorkResources resources;
  IndexSettings settings;
  AtomicOutput out;
  std::shared_ptr<DocumentStream> stream;
  std::string buffer;  ///< documents that are not handed over yet
  std::uint64_t added = 0;
  std::future<IndexReports> reports;  ///< not valid: nothing can be added any more
};

IndexBuilder::IndexBuilder(const std::string& path, const IndexOptions& options, const Work& work)
    : impl_(with_api_errors([&] { return std::make_unique<Impl>(path, options, work); })) {}
IndexBuilder::IndexBuilder(IndexBuilder&&) noexcept = default;
IndexBuilder& IndexBuilder::operator=(IndexBuilder&&) noexcept = default;
IndexBuilder::~IndexBuilder() = default;

void IndexBuilder::add(const NewDocument& document) {
  with_api_errors([&] {
    impl_->check_open();
    check_docno(document.docno);
    check_vector(document);
    const std::vector<std::string>& kept = impl_->settings.parse.reader.field_names.kept;
    for (const KeptField& field : document.fields) check_field(document, field, kept);
    append_json_line(impl_->buffer, document);
    ++impl_->added;
    if (impl_->buffer.size() >= piece_bytes) {
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
    const IndexReports reports = impl_->reports.get();
    impl_->resources.progress().check_stop();
    impl_->out.commit();
    impl_->resources.progress().finish();
    return index_report(reports);
  });
}

IndexReport build_index(const std::vector<std::string>& corpus, const std::string& path, const IndexOptions& options,
                        const CorpusOptions& reading, const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, folder_of(path));
    IndexSettings settings = index_settings(options);
    settings.parse.corpus = corpus;
    settings.parse.files = {reading.include, reading.exclude};
    settings.parse.reader.format = reading.format;
    settings.parse.reader.field_names = {reading.id_field,  reading.title_field,  reading.text_field,
                                         reading.url_field, reading.vector_field, options.keep_fields};
    settings.parse.reader.max_document_bytes = reading.max_document_bytes;
    settings.parse.reader.skip_bad = reading.skip_bad;
    settings.parse.pages = {sorted_languages(reading.languages), reading.drop_copies};
    AtomicOutput out = AtomicOutput::folder(path, index_members(), options.overwrite);
    const IndexReports reports = make_index(settings, resources, out);
    resources.progress().check_stop();
    out.commit();
    resources.progress().finish();
    return index_report(reports);
  });
}

}  // namespace quern::api
