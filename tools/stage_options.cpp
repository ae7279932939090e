#include "stage_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/bytes.hpp"
#include "quern/core/size_text.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/io/checksum.hpp"
#include "quern/order/pagerank.hpp"
#include "quern/text/analyzer.hpp"

#include "output_files.hpp"

namespace quern::tools {

void add_analyzer_options(CLI::App& command, AnalyzerArguments& arguments) {
  command.add_option("--stemmer", arguments.stemmer, "Stemmer")
      ->type_name("NAME")
      ->check(name_validator(stemmer_names()))
      ->capture_default_str();
  command
      .add_option("--stopwords", arguments.stopwords, "Stop words to drop: none, english, or a file with one per line")
      ->type_name("NAME|FILE")
      ->capture_default_str();
}

void add_impacts_option(CLI::App& command, unsigned& bits, const std::string& help) {
  add_number_option(command, "--impacts", bits, "N", help, min_quantize_bits, max_quantize_bits);
}

std::optional<ImpactSettings> impact_settings(const ImpactArguments& arguments) {
  if (arguments.bits > 0) return ImpactSettings{arguments.bits, arguments.scale};
  if (arguments.scale) throw usage_error("--impact-scale needs --impacts");
  return std::nullopt;
}

AnalyzerOptions analyzer_options(const AnalyzerArguments& arguments, bool impacts) {
  if (impacts && (arguments.stemmer != "none" || arguments.stopwords != "none"))
    throw usage_error("--impacts uses terms unchanged; omit --stemmer and --stopwords");
  return make_analyzer_options(arguments.stemmer, arguments.stopwords);
}

namespace {

/// What a line `key = value` of a configuration file can hold.
CLI::Validator field_name_validator() {
  return CLI::Validator(
      [](const std::string& name) -> std::string {
        const bool has_others = std::any_of(name.begin(), name.end(), [](char c) {
          return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '#';
        });
        if (!name.empty() && !has_others && trim(name).size() == name.size()) return {};
        return "a key must not be empty, begin or end with a space, or contain # or control characters";
      },
      "KEY");
}

/// Which pages of a crawl become documents.
void add_page_options(CLI::App& command, ParseArguments& arguments) {
  command
      .add_option("--languages", arguments.languages,
                  "In WARC and WET files, keep only pages whose main language, according to their records or metadata, "
                  "is one of these ISO 639-3 codes, such as eng,deu; skip pages that state none")
      ->type_name("CODE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& code) {
            return is_language_code(code) ? std::string()
                                          : "'" + code + "' is not an ISO 639-3 code such as eng or deu";
          },
          ""));
  command.add_flag("--drop-copies", arguments.drop_copies,
                   "In WARC and WET files, skip pages with the same payload digest as an earlier page");
}

}  // namespace

void add_corpus_format_option(CLI::App& command, std::string& format) {
  std::vector<std::string> formats = names_of(all_corpus_formats());
  formats.insert(formats.begin(), "auto");
  command
      .add_option("--format", format,
                  with_choices("Format of the corpus:\n  auto: detect the format", all_corpus_formats()))
      ->type_name("NAME")
      ->check(name_validator(formats))
      ->capture_default_str();
}

void add_max_document_option(CLI::App& command, std::string& max_document) {
  command.add_option("--max-document", max_document, "Largest document to accept; larger ones count as bad")
      ->type_name("SIZE")
      ->check(size_validator(1, CorpusOptions::largest_max_document))
      ->capture_default_str();
}

void add_parse_options(CLI::App& command, ParseArguments& arguments) {
  CLI::Option* corpus =
      command
          .add_option(
              "CORPUS", arguments.corpus,
              "Files, folders (read recursively, in the order of names), or - for standard input; plain, gzip or zstd")
          ->type_name("PATH");
  CLI::Option* files_from =
      command
          .add_option("--files-from", arguments.files_from,
                      "Instead of CORPUS, read the files and folders listed in this file, one path per line, in that "
                      "order; - for standard input; lines that begin with # are comments")
          ->type_name("FILE");
  require_one_of(command, corpus, files_from);
  command
      .add_option("--files-root", arguments.files_root,
                  "Folder that relative paths in the list start from (default: the current folder)")
      ->type_name("FOLDER")
      ->needs(files_from);
  const auto add_glob_option = [&](const char* name, std::vector<std::string>& globs, const char* help) {
    command.add_option(name, globs, help)->type_name("GLOB")->allow_extra_args(false);
  };
  add_glob_option(
      "--include", arguments.files.include,
      "In folders, read only files whose name or path in the folder matches, such as '*.warc.gz'; may be repeated");
  add_glob_option("--exclude", arguments.files.exclude,
                  "In folders, skip files and folders whose name or path in the folder matches; may be repeated");
  add_corpus_format_option(command, arguments.format);
  for (const NamedField& field : named_fields)
    command
        .add_option(
            fmt::format("--{}-field", field.name), arguments.field_names.*field.member,
            fmt::format("Key of JSON objects that has a document's {} (default: the format's own keys)", field.content))
        ->type_name("KEY")
        ->check(field_name_validator());
  command
      .add_option(
          "--keep-fields", arguments.field_names.kept,
          "Keep these values of JSON objects with the documents, for quern query --filter and --fields: strings, "
          "numbers and booleans, such as lang,date")
      ->type_name("KEY")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_max_document_option(command, arguments.max_document);
  add_analyzer_options(command, arguments.analyzer);
  add_impacts_option(command, arguments.impacts.bits,
                     "The corpus contains term weights, under the key vector (or --vector-field) of JSON objects: "
                     "store them as N-bit integers whose sums are the scores, and analyze no text");
  add_number_option(command, "--impact-scale", arguments.impacts.scale, "X",
                    "With --impacts, multiply weights by X and round them (default: they must be whole)",
                    min_impact_scale, max_impact_scale);
  add_value_option(command, "--duplicates", arguments.duplicates, duplicates_names,
                   "What to do with a document whose docno occurred before");
  command.add_flag("--store-text", arguments.store_text,
                   "Keep the documents' texts, compressed, for quern inspect INDEX --text DOCNO");
  CLI::Option* max_errors =
      add_number_option(command, "--max-errors", arguments.max_errors, "N", "Bad documents to skip before giving up");
  command
      .add_flag("--skip-bad", arguments.skip_bad,
                "Skip bad documents, however many, as well as damaged gzip members and files of unknown format")
      ->excludes(max_errors);
  add_page_options(command, arguments);
}

ParseOptions parse_options(const ParseArguments& arguments, const Resources& resources) {
  ParseOptions options;
  options.corpus = arguments.corpus;
  if (!arguments.files_from.empty())
    options.list = std::make_shared<const FileList>(arguments.files_from, arguments.files_root, resources);
  options.files = arguments.files;
  options.reader.format = arguments.format;
  options.reader.field_names = arguments.field_names;
  options.reader.max_document_bytes = parse_size(arguments.max_document);
  options.impacts = impact_settings(arguments.impacts);
  options.analyzer = analyzer_options(arguments.analyzer, options.impacts.has_value());
  options.duplicates = arguments.duplicates;
  options.pages = {sorted_languages(arguments.languages), arguments.drop_copies};
  options.store_text = arguments.store_text;
  options.max_errors = arguments.max_errors;
  options.reader.skip_bad = arguments.skip_bad;
  return options;
}

void refuse_overwritten_corpus(const ParseOptions& options, const std::string& output) {
  const WrittenFile written(output);
  if (!written.exists()) return;
  const auto check = [&](const CorpusFile& file) {
    if ((options.list || file.found_in_folder) && written.is(file.path))
      throw usage_error(fmt::format(
          "--output {}: would overwrite {}, a file of the corpus; choose another name, or exclude the file{}", output,
          file.path, options.list ? "" : " with --exclude"));
  };
  if (options.list) {
    for_each_corpus_file(*options.list, options.files, check);
  } else {
    for_each_corpus_file(options.corpus, options.files, check);
  }
}

void add_pagerank_options(CLI::App& command, PagerankArguments& arguments) {
  const std::string names = "; documents by docno or URL; plain, gzip or zstd";
  command
      .add_option("--pagerank", arguments.pagerank,
                  "PageRank of the documents, for --order score and --scorer bm25+pagerank (default: none, but links "
                  "for the order score):\n"
                  "  links: computed from the pages' links\n"
                  "  none: the index has none\n"
                  "  a file: lines \"document score\"" +
                      names + " (write ./none for a file named none)")
      ->type_name("links|none|FILE");
  command
      .add_option("--links", arguments.links,
                  "Compute PageRank from the links in this file, not from the pages' own: lines from<TAB>to" + names)
      ->type_name("FILE");
}

PagerankInput pagerank_input(const PagerankArguments& arguments, const std::vector<OrderBy>& orders) {
  PagerankInput input;
  try {
    input = quern::pagerank_input(arguments.pagerank, arguments.links);
  } catch (const InvalidArgument& wrong) {
    throw usage_error(wrong.what());
  }
  for (const OrderBy by : orders)
    if (input.from == PagerankFrom::nothing && order_method(by).needs_pagerank)
      throw CLI::ValidationError("--pagerank", fmt::format("none: the order {} needs PageRank; use links, or a file",
                                                           order_method(by).name()));
  return input;
}

void add_pagerank_scale_option(CLI::App& command, PagerankScale& scale) {
  add_value_option(command, "--pagerank-scale", scale, pagerank_scales,
                   with_choices("How PageRank is scaled to [0, 1] for scores:", pagerank_scales));
}

void add_bm25_options(CLI::App& command, Bm25Parameters& bm25, const std::string& purpose) {
  add_number_option(command, "--k1", bm25.k1, "X", "BM25's k1, for " + purpose, 0.0, 1000.0);
  add_number_option(command, "--b", bm25.b, "X", "BM25's b, for " + purpose, 0.0, 1.0);
}

void add_order_options(CLI::App& command, OrderOptions& options) {
  add_number_option(command, "--alpha", options.scores.alpha, "A",
                    "Weight of PageRank in global scores, for the order score", 0.0, 1.0);
  add_pagerank_scale_option(command, options.scores.pagerank_scale);
  add_number_option(command, "--seed", options.seed, "N", "Seed of the random order");
}

void add_build_options(CLI::App& command, BuildOptions& options) {
  add_name_option(command, "--codec", options.codec, all_codecs(), with_choices("Posting-list codec:", all_codecs()))
      ->capture_default_str();
  add_block_size_option(command, options.codec_options.block_size, "Postings per block");
  add_number_option(command, "--recursion", options.codec_options.recursion, "N",
                    "For rpfd: how many times exceptions are themselves compressed", 0, 4);
  add_bm25_options(command, options.bm25, "block maxima and global scores");
  add_number_option(command, "--quantize", options.quantize_bits, "N",
                    "Also store quantized impacts of N bits, for queries with --scores quantized", min_quantize_bits,
                    max_quantize_bits);
}

Json to_json(const ParseReport& report) {
  return {{"read", report.read},
          {"indexed", report.indexed},
          {"empty", report.empty},
          {"skipped", report.skipped},
          {"bad", report.bad},
          {"other_language", report.other_language},
          {"no_language", report.no_language},
          {"copies", report.copies},
          {"duplicates", report.duplicates},
          {"repaired_utf8", report.repaired_utf8},
          {"cut_terms", report.cut_terms},
          {"bytes", report.bytes},
          {"terms", report.terms},
          {"tokens", report.tokens},
          {"postings", report.postings},
          {"links", report.links},
          {"text_bytes", report.text_bytes},
          {"formats", report.formats},
          {"bad_documents", with_option_names(report.bad_documents)},
          {"num_skipped_files", report.num_skipped_files},
          {"skipped_files", report.skipped_files},
          {"num_passed_over", report.num_passed_over},
          {"passed_over", report.passed_over}};
}

Json to_json(const LinkCounts& counts) {
  return {{"links", counts.links},     {"edges", counts.edges},     {"self", counts.self},
          {"leaving", counts.leaving}, {"unknown", counts.unknown}, {"duplicates", counts.duplicates}};
}

Json to_json(const PagerankReport& report) {
  const PagerankSource source = report.origin.source;
  if (source == PagerankSource::unknown) return {{"from", nullptr}};
  Json json = {{"from", name_of_value(pagerank_sources, source)}, {"all_the_same", report.all_the_same}};
  if (!report.origin.file_hash.empty()) json["file_hash"] = report.origin.file_hash;
  if (source == PagerankSource::score_file) {
    json.update({{"scores", report.scores}, {"unknown", report.unknown}, {"missing", report.missing}});
    return json;
  }
  json["links"] = to_json(report.links);
  if (report.iterations > 0)
    json.update({{"dangling", report.dangling},
                 {"iterations", report.iterations},
                 {"last_change", report.last_change},
                 {"converged", report.converged}});
  return json;
}

Json to_json(const TextsReport& report) {
  return {{"text_bytes", report.text_bytes}, {"file_bytes", report.file_bytes}};
}

Json to_json(const BuildReport& report) {
  const IndexManifest& manifest = report.manifest;
  return {{"documents", manifest.documents},   {"terms", manifest.terms},
          {"postings", manifest.postings},     {"tokens", manifest.tokens},
          {"codec", manifest.codec},           {"block_size", manifest.codec_options.block_size},
          {"order", manifest.order},           {"quantize_bits", manifest.quantize_bits},
          {"index_bytes", report.index_bytes}, {"spilled_runs", report.spilled_runs}};
}

void say_report(const CommonOptions& options, const ParseReport& report) {
  constexpr std::size_t shown = 10;
  for (std::size_t i = 0; i < std::min(shown, report.bad_documents.size()); ++i)
    say(options, "quern: bad document: " + report.bad_documents[i]);
  if (report.bad > shown)
    say(options, fmt::format("quern: {} more bad documents (--json lists the first hundred)", report.bad - shown));
  for (std::size_t i = 0; i < std::min(shown, report.skipped_files.size()); ++i)
    say(options, "quern: skipped " + report.skipped_files[i] + ": no known corpus format");
  if (report.num_skipped_files > shown)
    say(options, fmt::format("quern: skipped {} more files of unknown format (--json lists the first hundred)",
                             report.num_skipped_files - shown));
  for (std::size_t i = 0; i < std::min(shown, report.passed_over.size()); ++i)
    say(options, "quern: skipped " + report.passed_over[i] + ": a pipe, socket or device");
  if (report.num_passed_over > shown)
    say(options, fmt::format("quern: skipped {} more pipes, sockets or devices (--json lists the first hundred)",
                             report.num_passed_over - shown));
  if (report.other_language + report.no_language > 0)
    say(options, fmt::format("quern: skipped {} in other languages, and {} that state none",
                             count_text(report.other_language, "page"), report.no_language));
  if (report.copies > 0)
    say(options, fmt::format("quern: skipped {} of earlier pages", count_text(report.copies, "copy", "copies")));
  if (report.duplicates > 0)
    say(options,
        fmt::format("quern: warning: {} with a docno that occurred before", count_text(report.duplicates, "document")));
  if (report.repaired_utf8 > 0)
    say(options, fmt::format("quern: replaced {}", count_text(report.repaired_utf8, "invalid UTF-8 sequence")));
  if (report.cut_terms > 0)
    say(options, fmt::format("quern: cut {} to {} bytes", count_text(report.cut_terms, "term"), max_term_bytes));
  say(options,
      fmt::format("quern: parsed {} of records ({}): {} read, {} indexed, {} empty, {} skipped, {} bad; {}, {}",
                  size_text(report.bytes), joined(report.formats), report.read, report.indexed, report.empty,
                  report.skipped, report.bad, count_text(report.terms, "term"), count_text(report.tokens, "token")));
}

void say_links(const CommonOptions& options, const LinkCounts& counts, bool from_file) {
  const std::string nowhere = from_file ? fmt::format("{} with an unknown document", counts.unknown)
                                        : fmt::format("{} leave the collection", counts.leaving);
  say(options, fmt::format("quern: {}{}: {} distinct between documents, {}, {} to their own page, {} repeated",
                           count_text(counts.links, "link"), from_file ? " in the file" : "", counts.edges, nowhere,
                           counts.self, counts.duplicates));
}

namespace {

void say_computed(const CommonOptions& options, const PagerankReport& report) {
  say_links(options, report.links, report.origin.source == PagerankSource::link_file);
  say(options, fmt::format("quern: computed PageRank in {}; {} without outgoing links",
                           count_text(report.iterations, "iteration"), count_text(report.dangling, "document")));
  if (!report.converged)
    say(options, fmt::format("quern: warning: PageRank has not converged: it changed by {:.1e} in the last iteration",
                             report.last_change));
}

void say_read(const CommonOptions& options, const PagerankReport& report) {
  say(options, fmt::format("quern: read PageRank of {} from the file", count_text(report.scores, "document")));
  if (report.missing > 0)
    say(options,
        fmt::format("quern: warning: {} without a score in the file get 0", count_text(report.missing, "document")));
  if (report.unknown > 0)
    say(options,
        fmt::format("quern: warning: {} with unknown documents in the file", count_text(report.unknown, "line")));
}

}  // namespace

void say_report(const CommonOptions& options, const PagerankReport& report) {
  const PagerankSource source = report.origin.source;
  if (source == PagerankSource::links || source == PagerankSource::link_file) say_computed(options, report);
  if (source == PagerankSource::score_file) say_read(options, report);
  if (source == PagerankSource::uniform) say(options, "quern: no links between documents");
  if (report.all_the_same) say(options, "quern: all documents have the same PageRank");
}

void say_report(const CommonOptions& options, const BuildReport& report, const std::string& output) {
  const IndexManifest& manifest = report.manifest;
  say(options, fmt::format("quern: built {}: {}, {}, {}, {} in {} order ({}, blocks of {})", output,
                           count_text(manifest.documents, "document"), count_text(manifest.terms, "term"),
                           count_text(manifest.postings, "posting"), size_text(report.index_bytes), manifest.order,
                           manifest.codec, manifest.codec_options.block_size));
}

void say_report(const CommonOptions& options, const TextsReport& report) {
  say(options,
      fmt::format("quern: stored {} of text in {}", size_text(report.text_bytes), size_text(report.file_bytes)));
}

std::optional<ShardChoice> shard_choice(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  ShardChoice choice;
  if (!read_number(text.substr(0, slash), choice.number) || !read_number(text.substr(slash + 1), choice.count) ||
      choice.number == 0 || choice.number > choice.count || choice.count > max_shards)
    return std::nullopt;
  return choice;
}

CLI::Option* add_shard_option(CLI::App& command, std::string& shard, const std::string& help) {
  return command.add_option("--shard", shard, help)
      ->type_name("I/N")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return shard_choice(text) ? std::string()
                                      : fmt::format("'{}' is not a shard such as 3/16: the third of sixteen", text);
          },
          ""));
}

void add_shard_options(CLI::App& command, ShardArguments& arguments) {
  CLI::Option* shard =
      add_shard_option(command, arguments.shard,
                       "Build the I-th of N shards of the order, with the same scores as an index of all documents");
  CLI::Option* statistics = command
                                .add_option("--statistics", arguments.statistics,
                                            "With --shard: statistics of all collections, from quern statistics")
                                ->type_name("FILE");
  shard->needs(statistics)->needs("--order");
  statistics->needs(shard);
  command
      .add_option("--scales", arguments.scales,
                  "With --shard and --quantize: the scale of all collections, from quern statistics --scales")
      ->type_name("FILE")
      ->needs(shard);
}

std::unique_ptr<ShardSource> shard_source(const ShardArguments& arguments, const std::string& order,
                                          const Resources& resources) {
  if (arguments.shard.empty()) return nullptr;
  StatisticsReader statistics = StatisticsReader::open(arguments.statistics);
  statistics.container().verify(resources);
  std::optional<Scales> scales;
  if (!arguments.scales.empty()) scales = read_scales(ContainerReader::open(arguments.scales, FileKind::scales));
  return std::make_unique<ShardSource>(*shard_choice(arguments.shard), OrderReader::open(order), std::move(statistics),
                                       std::move(scales));
}

namespace {

Json forward_json(const ForwardReport& report) {
  Json tokens;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream)
    tokens[std::string(document_stream_names[stream])] = report.manifest.counts.tokens[stream];
  Json json = {{"documents", report.manifest.documents},
               {"tokens", tokens},
               {"phrase_ends", report.manifest.counts.phrase_ends},
               {"file_bytes", report.file_bytes}};
  if (report.anchors) json["anchors"] = *report.anchors;
  return json;
}

void say_report(const CommonOptions& options, const ForwardReport& report) {
  std::uint64_t tokens = 0;
  for (const std::uint64_t in_stream : report.manifest.counts.tokens) tokens += in_stream;
  const std::string anchors = report.anchors ? count_text(*report.anchors, "link text") + ", " : "";
  say(options,
      fmt::format("quern: wrote the forward file: {}, {}, {}{}", count_text(report.manifest.documents, "document"),
                  count_text(tokens, "token"), anchors, size_text(report.file_bytes)));
}

/// If some have the file and others lack it, the copy fails and says so.
bool some_have(std::span<const IndexPart> parts, std::string (*path)(const std::string& index_path)) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const IndexPart& part) { return has_file(path(part.index.name())); });
}

}  // namespace

void add_forward_option(CLI::App& command, bool& forward) {
  command.add_flag(
      "--forward", forward,
      "Also write the documents' tokens by docID, for quern features, quern rerank and quern query --ranker");
}

void add_to_json(const SidecarReports& reports, Json& json) {
  if (reports.forward) json["forward"] = forward_json(*reports.forward);
  if (reports.texts) json["texts"] = to_json(*reports.texts);
  if (reports.fields) json["fields"] = {{"fields", reports.fields->fields}, {"file_bytes", reports.fields->file_bytes}};
}

void say_reports(const CommonOptions& options, const SidecarReports& reports) {
  if (reports.forward) say_report(options, *reports.forward);
  if (reports.texts) say_report(options, *reports.texts);
  if (reports.fields)
    say(options, fmt::format("quern: wrote {}: {}", count_text(reports.fields->fields, "kept field"),
                             size_text(reports.fields->file_bytes)));
}

void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output) {
  say_report(options, index, output);
  say_reports(options, beside);
  if (!options.json) return;
  Json json = to_json(index);
  add_to_json(beside, json);
  print(json.dump(1) + "\n");
}

SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out) {
  const IndexReader index = IndexReader::open(out.file());
  const std::string hash = hash_text(index.container().content_hash());
  SidecarReports reports;
  if (some_have(parts, forward_path))
    reports.forward = copy_forward(parts, index, resources, out.add_member(forward_member));
  if (!index.manifest().field_names.kept.empty())
    reports.fields = copy_fields(parts, hash, resources, out.add_member(fields_member));
  if (some_have(parts, texts_path)) reports.texts = copy_texts(parts, hash, resources, out.add_member(texts_member));
  return reports;
}

}  // namespace quern::tools
