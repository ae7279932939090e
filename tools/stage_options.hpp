#pragma once
#include "quern/api/index_builder.hpp"
#include "quern/api/internal/index_settings.hpp"
#include "quern/api/internal/stage_reports.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/make_index.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/order.hpp"

#include "command.hpp"

/// The options of parse, order and build, all of which `quern index` has.
namespace quern::tools {

/// A corpus, how it is read, and the index built from it; each command has options for some of them.
struct StageArguments {
  std::vector<std::string> corpus;
  api::CorpusOptions reading;
  api::IndexOptions index;
};

/// All options of `quern parse` but --range.
void add_parse_options(CLI::App& command, StageArguments& arguments);
/// --language, --stemmer and --stopwords.
void add_analyzer_options(CLI::App& command, api::IndexOptions& options);
/// --format and --max-document.
void add_corpus_format_options(CLI::App& command, std::string& format, std::uint64_t& max_document_bytes);
/// --impacts, with a help text that says what has the weights.
void add_impacts_option(CLI::App& command, unsigned& bits, const std::string& help);
/// --alpha, --pagerank-scale, --seed, --pagerank and --links; the order's name, k1 and b are the commands' own options.
void add_order_options(CLI::App& command, api::IndexOptions& options);
void add_pagerank_scale_option(CLI::App& command, std::string& scale);
/// --k1 and --b, for `purpose`.
void add_bm25_options(CLI::App& command, double& k1, double& b, const std::string& purpose);
/// --codec, --block-size, --recursion, --k1, --b, --quantize.
void add_build_options(CLI::App& command, api::IndexOptions& options);
/// --weights.
void add_weights_option(CLI::App& command, std::string& weights);

// --shard, --statistics and --scales of quern build.

struct ShardArguments {
  std::string shard, statistics, scales;
};
/// "3/16"; nothing if the text is another.
std::optional<ShardChoice> shard_choice(const std::string& text);
/// Only --shard.
CLI::Option* add_shard_option(CLI::App& command, std::string& shard, const std::string& help);
/// Needs the option --order.
void add_shard_options(CLI::App& command, ShardArguments& arguments);
/// What the shard takes from files of the whole index, whose checksums are compared; null without --shard. The
/// order is that of --order.
std::unique_ptr<ShardSource> shard_source(const ShardArguments& arguments, const std::string& order,
                                          const Resources& resources);

// The files beside an index: options, figures, and copies for indexes that are made of others.

/// --forward.
void add_forward_option(CLI::App& command, bool& forward);
/// --allow-empty.
void add_allow_empty_option(CLI::App& command, bool& allow_empty);

/// Remarks for people on an index and the files beside it, and with --json the figures of all.
void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output);

/// Writes beside the new index in `out`, which holds these documents of other indexes, copies of their texts, kept
/// fields and forward files.
SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out);

// Settings of `quern index` in a file.

/// Adds --config FILE to a command that begins with apply_config_file().
void add_config_option(CLI::App& command);

/// Reads the file that --config names: lines `key = value`, keys being the command's long option names, # comments.
/// Sets every option that the command line left open. Throws InvalidArgument with file and line for an unknown key or
/// a value that the option refuses.
void apply_config_file(CLI::App& command);

/// The settings that shaped an index, as lines `key = value` for quern index --config.
std::string config_text(const IndexManifest& manifest, const BesideChoice& beside);

}  // namespace quern::tools
