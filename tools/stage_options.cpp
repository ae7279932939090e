#include "stage_options.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <sstream>

#include "quern/corpus/corpus_files.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"
#include "quern/order/pagerank.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::tools {

void add_analyzer_options(CLI::App& command, api::IndexOptions& options) {
  add_option(command, "--language", options.language, "NAME",
             "Language of the text: use its Snowball stemmer and its stop words (default: none)")
      ->check(name_validator(language_names()));
  add_option(command, "--stemmer", options.stemmer, "NAME", "Stemmer (default: that of the language, if any)")
      ->check(name_validator(stemmer_names()));
  add_input_option(
      command, "--stopwords", options.stopwords, "NAME|FILE",
      "Stop words to drop: none, those of a language, such as english, or a file of at most 1 MiB with one "
      "per line (default: those of --language, if any)");
}

void add_impacts_option(CLI::App& command, unsigned& bits, const std::string& help) {
  add_number_option(command, "--impacts", bits, "N", help, min_quantize_bits, max_quantize_bits);
}

namespace {

/// Names that a line `key = value` of a configuration file can hold.
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
void add_page_options(CLI::App& command, api::CorpusOptions& reading) {
  add_option(command, "--languages", reading.languages, "CODE",
             "In WARC and WET files, keep only pages whose main language, according to their records or metadata, "
             "is one of these ISO 639-3 codes, such as eng,deu; skip pages that state none")
      ->delimiter(',')
      ->check(checked_by([](const std::string& code) {
        return is_language_code(code)
                   ? std::string()
                   : "'" + code + "' is not an ISO 639-3 code such as eng or deu; for stemming, use --language";
      }));
  command.add_flag("--drop-copies", reading.drop_copies,
                   "In WARC and WET files, skip pages with the same payload digest as an earlier page");
}

}  // namespace

void add_corpus_format_options(CLI::App& command, std::string& format, std::uint64_t& max_document_bytes) {
  std::vector<std::string> formats = names_of(all_corpus_formats());
  formats.insert(formats.begin(), "auto");
  add_option(command, "--format", format, "NAME",
             with_choices("Format of the corpus:\n  auto: detect the format", all_corpus_formats()))
      ->check(name_validator(formats))
      ->capture_default_str();
  add_size_option(command, "--max-document", max_document_bytes, "Largest document to accept; larger ones count as bad",
                  1, CorpusOptions::largest_max_document)
      ->default_str("64M");
}

namespace {

/// --id-field, --title-field and so on.
void add_field_options(CLI::App& command, api::CorpusOptions& reading) {
  std::string* const keys[] = {&reading.id_field, &reading.title_field, &reading.text_field, &reading.url_field,
                               &reading.vector_field};
  static_assert(std::size(keys) == std::size(named_fields));
  for (std::size_t i = 0; i < std::size(keys); ++i)
    add_option(
        command, fmt::format("--{}-field", named_fields[i].name), *keys[i], "KEY",
        fmt::format("Key of a document's {} in JSON objects (default: the format's own keys)", named_fields[i].content))
        ->check(field_name_validator());
}

constexpr NamedValue<bool> duplicates_choices[] = {{"keep", false}, {"refuse", true}};

}  // namespace

void add_parse_options(CLI::App& command, StageArguments& arguments) {
  api::CorpusOptions& reading = arguments.reading;
  api::IndexOptions& index = arguments.index;
  CLI::Option* corpus = add_input_option(
      command, "CORPUS", arguments.corpus, "PATH",
      "Files, folders (read recursively, in the order of names), or - for standard input; plain or compressed (gzip, "
      "zstd, bzip2, xz, .Z)");
  CLI::Option* files_from =
      add_input_option(command, "--files-from", reading.files_from, "FILE",
                       "Instead of CORPUS, read the files and folders listed in this file, one path per line, in that "
                       "order; - for standard input; lines that begin with # are comments");
  require_one_of(command, corpus, files_from);
  add_input_option(command, "--files-root", reading.files_root, "FOLDER",
                   "Folder that relative paths in the list start from (default: the current folder)")
      ->needs(files_from);
  const auto add_glob_option = [&](const char* name, std::vector<std::string>& globs, const char* help) {
    add_option(command, name, globs, "GLOB", help)->allow_extra_args(false);
  };
  add_glob_option(
      "--include", reading.include,
      "In folders, read only files whose name or path in the folder matches, such as '*.warc.gz'; may be repeated");
  add_glob_option("--exclude", reading.exclude,
                  "In folders, skip files and folders whose name or path in the folder matches; may be repeated");
  add_corpus_format_options(command, reading.format, reading.max_document_bytes);
  add_field_options(command, reading);
  add_option(command, "--keep-fields", index.keep_fields, "KEY",
             "Keep these values of JSON objects with the documents, for quern query --filter and --fields: "
             "strings, numbers and booleans, such as lang,date")
      ->delimiter(',');
  add_analyzer_options(command, index);
  add_impacts_option(command, index.impact_bits,
                     "The corpus contains term weights, under the key vector (or --vector-field) of JSON objects: "
                     "store them as N-bit integers whose sums are the scores, and analyze no text");
  add_number_option(command, "--impact-scale", index.impact_scale, "X",
                    "With --impacts, multiply weights by X and round them (default: they must be whole)",
                    min_impact_scale, max_impact_scale);
  add_value_option(command, "--duplicates", index.refuse_duplicates, duplicates_choices,
                   "What to do with a document whose docno occurred before");
  command.add_flag("--store-text", index.store_text,
                   "Keep the documents' texts, compressed, for quern inspect INDEX --text DOCNO");
  CLI::Option* max_errors =
      add_number_option(command, "--max-errors", index.max_errors, "N", "Bad documents to skip before giving up");
  command
      .add_flag("--skip-bad", reading.skip_bad,
                "Skip bad documents, however many, as well as damaged gzip members and files of unknown format")
      ->excludes(max_errors);
  add_page_options(command, reading);
}

void add_pagerank_scale_option(CLI::App& command, std::string& scale) {
  add_name_option(command, "--pagerank-scale", scale, pagerank_scales,
                  with_choices("How PageRank is scaled to [0, 1] for scores:", pagerank_scales));
}

void add_bm25_options(CLI::App& command, double& k1, double& b, const std::string& purpose) {
  add_number_option(command, "--k1", k1, "X", "BM25's k1, for " + purpose, 0.0, 1000.0);
  add_number_option(command, "--b", b, "X", "BM25's b, for " + purpose, 0.0, 1.0);
}

void add_order_options(CLI::App& command, api::IndexOptions& options) {
  add_number_option(command, "--alpha", options.alpha, "A", "Weight of PageRank in global scores, for the order score",
                    0.0, 1.0);
  add_pagerank_scale_option(command, options.pagerank_scale);
  add_number_option(command, "--seed", options.seed, "N", "Seed of the random order");
  const std::string names = "; documents by docno or URL; plain or compressed";
  add_input_option(command, "--pagerank", options.pagerank, "links|none|FILE",
                   "PageRank of the documents, for --order score and --scorer bm25+pagerank (default: none, but links "
                   "for the order score):\n  links: computed from the pages' links\n  none: the index has none\n  a "
                   "file: lines \"document score\"" +
                       names + " (write ./none for a file named none)");
  add_input_option(command, "--links", options.links, "FILE",
                   "Compute PageRank from the links in this file, not from the pages' own: lines from<TAB>to" + names);
}

void add_build_options(CLI::App& command, api::IndexOptions& options) {
  add_name_option(command, "--codec", options.codec, all_codecs(), with_choices("Posting-list codec:", all_codecs()));
  add_block_size_option(command, options.block_size, "Postings per block");
  add_number_option(command, "--recursion", options.recursion, "N",
                    "For rpfd: how many times exceptions are themselves compressed", 0, 4);
  add_bm25_options(command, options.k1, options.b, "block maxima and global scores");
  add_number_option(command, "--quantize", options.quantize_bits, "N",
                    "Also store quantized impacts of N bits, for queries with --scores quantized", min_quantize_bits,
                    max_quantize_bits);
}

void add_weights_option(CLI::App& command, std::string& weights) {
  add_option(command, "--weights", weights, "MODEL",
             with_choices("Store the weights of this model instead of frequencies, in --quantize bits "
                          "(default: 16); scores are their sums. Parameters follow the name: pl2:c=5, or "
                          "tfidf:k1=0.9,b=0.4. The models:",
                          all_weighting_models()))
      ->check(refusing_as([](const std::string& text) { read_weighting(text); }));
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
  return add_option(command, "--shard", shard, "I/N", help)->check(checked_by([](const std::string& text) {
    return shard_choice(text) ? std::string()
                              : fmt::format("'{}' is not a shard such as 3/16: the third of sixteen", text);
  }));
}

void add_shard_options(CLI::App& command, ShardArguments& arguments) {
  CLI::Option* shard =
      add_shard_option(command, arguments.shard,
                       "Build the I-th of N shards of the order, with the same scores as an index of all documents");
  CLI::Option* statistics = add_input_option(command, "--statistics", arguments.statistics, "FILE",
                                             "With --shard: statistics of all collections, from quern statistics");
  shard->needs(statistics)->needs("--order");
  statistics->needs(shard);
  add_input_option(command, "--scales", arguments.scales, "FILE",
                   "With --shard and --quantize: the scale of all collections, from quern statistics --scales")
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

/// If some have the file and others lack it, the copy fails and says so.
bool some_have(std::span<const IndexPart> parts, const char* member) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const IndexPart& part) { return has_member(part.index.name(), member); });
}

}  // namespace

void add_forward_option(CLI::App& command, bool& forward) {
  command.add_flag("--forward", forward,
                   "Also write the documents' tokens by docID, for quern features, quern rerank, and --ranker and "
                   "--expand of quern query");
}

void add_allow_empty_option(CLI::App& command, bool& allow_empty) {
  command.add_flag("--allow-empty", allow_empty, "Build an index even if no document has a term");
}

void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output) {
  api::remark_on(index, output, remarks(options));
  api::remark_on(beside, remarks(options));
  if (options.json) print_json(api::figures_of(index, beside));
}

SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out) {
  const IndexReader index = IndexReader::open(out.file());
  const std::string hash = hash_text(index.container().content_hash());
  SidecarReports reports;
  if (index.manifest().has_forward || some_have(parts, forward_member))
    reports.forward = copy_forward(parts, index, resources, out.add_member(forward_member));
  if (!index.manifest().field_names.kept.empty())
    reports.fields = copy_fields(parts, hash, resources, out.add_member(fields_member));
  if (index.manifest().has_texts || some_have(parts, texts_member))
    reports.texts = copy_texts(parts, hash, resources, out.add_member(texts_member));
  return reports;
}

namespace {

namespace po = boost::program_options;

constexpr const char* config_option = "config";

/// The command's options by their long names, as Boost takes them; --config itself is not allowed in a file.
po::options_description settings_of(const CLI::App& command) {
  po::options_description description;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      if (name != config_option && name != "help") description.add_options()(name.c_str(), po::value<std::string>());
  }
  return description;
}

/// The number, from 1, of the last line that begins with `start` as a whole word; 0 if there is none.
std::size_t line_of(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  std::string line;
  std::size_t found = 0;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == line.npos || line.compare(from, start.size(), start) != 0) continue;
    const std::size_t end = from + start.size();
    if (end == line.size() || std::string_view(" \t=#\r").find(line[end]) != std::string_view::npos) found = number;
  }
  return found;
}

std::string read_text(const std::string& path) {
  constexpr std::uint64_t max_bytes = 1 << 20;
  const File file = File::open_regular(path);
  if (file.size() > max_bytes)
    throw InvalidArgument("{}: is {}, too large for a configuration; is it the right file?", path,
                          size_text(file.size()));
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return std::string(as_text(bytes));
}

/// Boost would take `[index]` for the beginning of all names after it.
void refuse_sections(const std::string& path, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from != line.npos && line[from] == '[')
      throw usage_error(
          "{}, line {}: '{}' begins a section, which these files do not have; remove it, and write lines "
          "such as: codec = rice",
          path, number, line.substr(from, line.find_last_not_of(" \t\r") + 1 - from));
  }
}

po::parsed_options parse(const std::string& path, const std::string& text, const po::options_description& description) {
  refuse_sections(path, text);
  std::istringstream in(text);
  try {
    return po::parse_config_file(in, description);
  } catch (const po::unknown_option& error) {
    throw usage_error("{}, line {}: unknown setting '{}'; quern index --help lists the names of options", path,
                      line_of(text, error.get_option_name()), error.get_option_name());
  } catch (const po::invalid_config_file_syntax& error) {
    throw usage_error("{}, line {}: '{}' is not a setting; write lines such as: codec = rice", path,
                      line_of(text, error.tokens()), error.tokens());
  }
}

/// none, a language, or the words themselves: the file that they came from may be gone.
std::string stopwords_setting(const AnalyzerOptions& analyzer) {
  if (analyzer.stopwords_name != "file") return analyzer.stopwords_name;
  return fmt::format("words:{}", fmt::join(analyzer.stopwords, ","));
}

/// A file that PageRank came from is named only by its hash: its path is not stored.
std::string score_settings(const DocumentScoreSettings& scores) {
  std::string text = fmt::format("alpha = {}\npagerank-scale = {}\n", scores.alpha,
                                 name_of_value(pagerank_scales, scores.pagerank_scale));
  const PagerankSource source = scores.origin.source;
  if (source == PagerankSource::links || source == PagerankSource::uniform) text += "pagerank = links\n";
  const bool links = source == PagerankSource::link_file;
  if (links || source == PagerankSource::score_file)
    text += fmt::format("# and the {} with hash {}: {} = FILE\n", name_of_value(pagerank_sources, source),
                        scores.origin.file_hash, links ? "links" : "pagerank");
  return text;
}

}  // namespace

void add_config_option(CLI::App& command) {
  name_file(command.add_option(std::string("--") + config_option, "Read options from a file of lines `key = value`")
                ->type_name("FILE"),
            {});
}

void apply_config_file(CLI::App& command) {
  const CLI::Option* config = command.get_option(std::string("--") + config_option);
  if (config->count() == 0) return;
  const std::string path = config->as<std::string>();
  const std::string text = read_text(path);
  const po::options_description description = settings_of(command);
  std::set<std::string> seen;
  for (const po::option& setting : parse(path, text, description).options) {
    if (!seen.insert(setting.string_key).second)
      throw usage_error("{}, line {}: '{}' is set twice", path, line_of(text, setting.string_key), setting.string_key);
    CLI::Option* option = command.get_option("--" + setting.string_key);
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : setting.value) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw usage_error("{}, line {}: {}", path, line_of(text, setting.string_key), option_message(error));
    }
  }
  refuse_overwritten_inputs(command);
}

std::string config_text(const IndexManifest& manifest, const BesideChoice& beside) {
  std::string text = fmt::format(
      "format = {}\nmax-document = {}\nstemmer = {}\nstopwords = {}\nduplicates = {}\n"
      "order = {}\nseed = {}\ncodec = {}\nblock-size = {}\nrecursion = {}\nk1 = {}\nb = {}\n",
      manifest.corpus_format, manifest.max_document_bytes, manifest.analyzer.stemmer,
      stopwords_setting(manifest.analyzer), name_of_value(duplicates_names, manifest.duplicates), manifest.order,
      manifest.order_seed, manifest.codec, manifest.codec_options.block_size, manifest.codec_options.recursion,
      manifest.bm25.k1, manifest.bm25.b);
  for (const NamedField& field : named_fields)
    if (const std::string& name = manifest.field_names.*field.member; !name.empty())
      text += fmt::format("{}-field = {}\n", field.name, name);
  if (const auto& kept = manifest.field_names.kept; !kept.empty())
    text += fmt::format("keep-fields = {}\n", fmt::join(kept, ","));
  if (const auto& languages = manifest.pages.languages; !languages.empty())
    text += fmt::format("languages = {}\n", fmt::join(languages, ","));
  if (manifest.pages.drop_copies) text += "drop-copies = true\n";
  if (manifest.weighting) {
    text += fmt::format("weights = {}\nquantize = {}\n", weighting_text(*manifest.weighting), manifest.impacts->bits);
  } else if (manifest.impacts) {
    text += fmt::format("impacts = {}\n", manifest.impacts->bits);
    if (manifest.impacts->scale) text += fmt::format("impact-scale = {}\n", *manifest.impacts->scale);
  } else if (manifest.quantize_bits > 0) {
    text += fmt::format("quantize = {}\n", manifest.quantize_bits);
  }
  if (manifest.scores) text += score_settings(*manifest.scores);
  if (beside.forward) text += "forward = true\n";
  if (beside.texts) text += "store-text = true\n";
  return text;
}

}  // namespace quern::tools
