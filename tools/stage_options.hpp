#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/make_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/index/shards/shard_source.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/order.hpp"

#include "command.hpp"

/// The options of parse, order and build, which `quern index` has all of; and what is printed when a stage is done.
namespace quern::tools {

/// --stemmer and --stopwords as they are written.
struct AnalyzerArguments {
  std::string stemmer = "none";
  std::string stopwords = "none";
};
void add_analyzer_options(CLI::App& command, AnalyzerArguments& arguments);

/// --impacts and --impact-scale as they are written.
struct ImpactArguments {
  unsigned bits = 0;  ///< 0: the corpus gives no weights
  std::optional<double> scale;
};
/// --impacts, with a help text that says what has the weights.
void add_impacts_option(CLI::App& command, unsigned& bits, const std::string& help);
/// Throws wrong usage for a scale without bits.
std::optional<ImpactSettings> impact_settings(const ImpactArguments& arguments);
/// The analyzer that the options name, or with `impacts` the one of given terms. Throws wrong usage if they name one
/// then.
AnalyzerOptions analyzer_options(const AnalyzerArguments& arguments, bool impacts);

/// Options of parsing as they are written; turned into ParseOptions once all are known.
struct ParseArguments {
  std::vector<std::string> corpus;
  std::string files_from, files_root;
  FileChoice files;
  std::string format = "auto";
  FieldNames field_names;
  std::string max_document = "64M";
  AnalyzerArguments analyzer;
  ImpactArguments impacts;
  Duplicates duplicates = ParseOptions().duplicates;
  std::uint64_t max_errors = ParseOptions().max_errors;
  bool skip_bad = false;
  std::vector<std::string> languages;
  bool drop_copies = false;
  bool store_text = false;
};
void add_parse_options(CLI::App& command, ParseArguments& arguments);
/// --format and --max-document alone.
void add_corpus_format_option(CLI::App& command, std::string& format);
void add_max_document_option(CLI::App& command, std::string& max_document);
/// Reads the list of files, if there is one.
ParseOptions parse_options(const ParseArguments& arguments, const Resources& resources);
/// Throws wrong usage if `output`, or the file in it if it is an index, is one of the files in the corpus's folders or
/// list; and what for_each_corpus_file() throws. The files that the command line names are compared as those of all
/// commands.
void refuse_overwritten_corpus(const ParseOptions& options, const std::string& output);

/// --seed, --alpha, --pagerank-scale; the order's name, k1 and b are the commands' own options.
void add_order_options(CLI::App& command, OrderOptions& options);
/// What PageRank comes from, as it is written.
struct PagerankArguments {
  std::string pagerank, links;
};
/// --pagerank and --links.
void add_pagerank_options(CLI::App& command, PagerankArguments& arguments);
/// Throws wrong usage if the options contradict each other, or one of these orders needs PageRank and is to have none.
PagerankInput pagerank_input(const PagerankArguments& arguments, const std::vector<OrderBy>& orders);
void add_pagerank_scale_option(CLI::App& command, PagerankScale& scale);
/// --k1 and --b, for `purpose`.
void add_bm25_options(CLI::App& command, Bm25Parameters& bm25, const std::string& purpose);
/// --codec, --block-size, --recursion, --k1, --b, --quantize.
void add_build_options(CLI::App& command, BuildOptions& options);

Json to_json(const ParseReport& report);
Json to_json(const LinkCounts& counts);
Json to_json(const PagerankReport& report);
Json to_json(const BuildReport& report);
Json to_json(const TextsReport& report);
/// Remarks for people: counts, and the bad documents.
void say_report(const CommonOptions& options, const ParseReport& report);
/// What became of the links of pages, or of a file.
void say_links(const CommonOptions& options, const LinkCounts& counts, bool from_file);
void say_report(const CommonOptions& options, const PagerankReport& report);
void say_report(const CommonOptions& options, const BuildReport& report, const std::string& output);
void say_report(const CommonOptions& options, const TextsReport& report);

// --shard, --statistics and --scales of quern build.

struct ShardArguments {
  std::string shard, statistics, scales;
};
/// "3/16"; nothing if the text is another.
std::optional<ShardChoice> shard_choice(const std::string& text);
/// --shard alone.
CLI::Option* add_shard_option(CLI::App& command, std::string& shard, const std::string& help);
/// Needs the option --order.
void add_shard_options(CLI::App& command, ShardArguments& arguments);
/// What the shard takes from files of the whole, whose checksums are compared; null without --shard. The order is that
/// of --order.
std::unique_ptr<ShardSource> shard_source(const ShardArguments& arguments, const std::string& order,
                                          const Resources& resources);

// The files beside an index: options, figures, and copies for indexes that are made of others.

/// --forward.
void add_forward_option(CLI::App& command, bool& forward);

/// Adds what was written to the figures of a command.
void add_to_json(const SidecarReports& reports, Json& json);
void say_reports(const CommonOptions& options, const SidecarReports& reports);
/// Remarks for people on an index and the files beside it, and with --json the figures of all.
void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output);

/// Writes beside the new index in `out`, which holds these documents of other indexes, copies of their texts, kept
/// fields and forward files.
SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out);

}  // namespace quern::tools
