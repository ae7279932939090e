#include <fmt/format.h>

#include "quern/corpus/corpus_reader.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/index/shards/merge_runs.hpp"
#include "quern/index/shards/statistics.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct CutArguments {
  CommonOptions common;
  std::string index, shard, output;
};

void run(const CutArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  index.container().verify(resources);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  std::optional<StatisticsReader> statistics;
  if (!index.pagerank().empty()) {
    File& file = out.add_member(statistics_member);
    write_statistics_of_index(index, resources, file);
    statistics.emplace(ContainerReader(std::make_shared<const File>(file.duplicate()), FileKind::statistics));
  }
  const BuildReport report =
      cut_index(index, *shard_choice(arguments.shard), statistics ? &*statistics : nullptr, resources, out.file());
  const IndexReader shard = IndexReader::open(out.file());
  const auto first = static_cast<docid_t>(shard.manifest().docid_base);
  const IndexPart part{index, {first, first + shard.num_documents()}};
  const SidecarReports beside = copy_beside({&part, 1}, resources, out);
  out.commit();
  show_reports(arguments.common, report, beside, arguments.output);
}

}  // namespace

void add_cut_command(CLI::App& program) {
  auto [command, arguments] = add_command<CutArguments>(program, "cut", "Cut a shard out of an index", run);
  add_index_argument(command, arguments.index);
  add_shard_option(command, arguments.shard, "Write the I-th of N shards, with the same scores as the whole index")
      ->required();
  add_output_options(command, arguments.common, arguments.output, "index");
  set_notes(command, {"Texts, kept fields and the forward file next to the index are also cut."},
            {{"quern cut my.quern --shard 1/2 -o 1.quern", "So that each of two GPUs holds half of the documents"}});
}

namespace {

struct MergeArguments {
  CommonOptions common;
  std::vector<std::string> shards;
  std::string output;
};

void run(const MergeArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexShards shards = IndexShards::open(arguments.shards);
  for (const IndexReader& shard : shards) shard.container().verify(resources);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report = merge_indexes(shards, resources, out.file());
  const SidecarReports beside = copy_beside(parts_of(shards), resources, out);
  out.commit();
  show_reports(arguments.common, report, beside, arguments.output);
}

}  // namespace

void add_merge_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<MergeArguments>(program, "merge", "Merge the shards of an index into one", run);
  add_input_option(command, "INDEX", arguments.shards, "",
                   "All shards, as written by quern build --shard, in any order")
      ->required();
  add_output_options(command, arguments.common, arguments.output, "index");
  set_notes(command,
            {"The result is byte for byte what quern build writes with the same order and without --shard. Texts, kept "
             "fields and forward files next to the shards are also merged."},
            {{"quern merge shard-*.quern -o my.quern"}});
}

namespace {

struct MergeRunsArguments {
  CommonOptions common;
  std::vector<std::string> runs;
  std::string queries, output;
  QueryLayout layout;
  MergeRunsOptions options;
};

void run(const MergeRunsArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  MergeRunsOptions options = arguments.options;
  if (!arguments.queries.empty())
    options.for_each_qid = [&](const std::function<void(std::string_view)>& take) {
      QueryRemarks remarks(arguments.common, arguments.layout.format);
      QueryLogFile(arguments.queries, arguments.layout, resources)
          .for_each(remarks, [&](std::string_view id, std::string_view) { take(id); });
    };
  TextOutput out(arguments.output, arguments.common.force);
  const MergeRunsReport report =
      merge_runs(arguments.runs, options, resources, [&](std::string_view text) { out.write(text); });
  out.finish();
  say(arguments.common, "quern: {} of {} in {}", report.results, count_text(report.results_read, "result"),
      count_text(report.queries, "query", "queries"));
}

}  // namespace

void add_merge_runs_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<MergeRunsArguments>(program, "merge-runs", "Merge shards' runs of the same queries", run);
  add_input_option(command, "RUN", arguments.runs, "", "TREC runs of all shards, in the order of the shards")
      ->required();
  add_number_option(command, "-k", arguments.options.k, "N",
                    "Results per query: the same -k that each shard was queried with", 1, std::uint64_t{1} << 32)
      ->required();
  add_option(command, "--tag", arguments.options.tag, "TAG", "Name of the run (default: that of the first run)");
  add_input_option(command, "-q,--queries", arguments.queries, "FILE",
                   "The queries, in the order the run should have (default: the order in the runs)");
  add_query_layout_options(command, arguments.layout, "Format of the queries");
  add_output_option(command, "-o,--output", arguments.output, "FILE", "Write to a file instead of standard output");
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  add_work_options(command, arguments.common);
  set_notes(
      command,
      {"The result is byte for byte the run over the whole index if each shard was queried with the same -k. Equal "
       "scores are ordered by shard: name the runs in the order of the shards."},
      {{"quern merge-runs 1.run 2.run 3.run -k 1000 -o my.run"},
       {"quern merge-runs ?.run -q queries.txt -k 10 > my.run", "When some queries have results only in some shards"}});
}

namespace {

struct RangesArguments {
  CommonOptions common;
  std::string file;
  CorpusOptions options;
  std::size_t count = 0;
};

void run(const RangesArguments& arguments) {
  const Resources resources = make_resources(arguments.common, "");
  const std::vector<FileRange> ranges = find_ranges(arguments.file, arguments.count, arguments.options, resources);
  Json json = Json::array();
  std::string text;
  for (const FileRange& range : ranges) {
    json.push_back({{"from", range.from}, {"to", range.to}});
    text += fmt::format("{}-{}\n", range.from, range.to);
  }
  print(arguments.common.json ? json.dump(1) + "\n" : text);
}

}  // namespace

void add_ranges_command(CLI::App& program) {
  auto [command, arguments] = add_command<RangesArguments>(
      program, "ranges", "Find ranges of a corpus file that can be parsed on their own", run);
  add_input_option(command, "FILE", arguments.file, "", "The file, not compressed")->required();
  add_number_option(command, "-n,--count", arguments.count, "N", "Number of ranges, of roughly equal size", 1, 1 << 20)
      ->required();
  add_corpus_format_options(command, arguments.options.format, arguments.options.max_document_bytes);
  add_resource_options(command, arguments.common);
  command.add_flag("--json", arguments.common.json, "Print the ranges as JSON");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"Prints one range per line: the offset of its first byte and that of the first byte after it. Ranges "
             "begin at record boundaries, so together they contain all documents of the file."},
            {{"quern ranges large.warc -n 4"},
             {"for r in $(quern ranges large.warc -n 4); do quern parse large.warc --range $r -o $r.collection; done",
              "Splits of one file; use the same --format and --max-document for quern ranges and quern parse"}});
}

namespace {

struct StatisticsArguments {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string scales_of, output;
  Duplicates duplicates = Duplicates::keep;
  Bm25Parameters bm25;
};

/// Statistics of a collection, in a work file.
StatisticsReader statistics_of(const CollectionReader& collection, const Resources& resources) {
  auto file = std::make_shared<File>(File::anonymous(resources.tmp_folder));
  write_statistics(collection, resources, *file);
  file->rename_for_messages("statistics of " + collection.name());
  return StatisticsReader(ContainerReader(file, FileKind::statistics));
}

/// Collections, and statistics or scales that were made from others before.
struct Inputs {
  std::vector<CollectionReader> collections;
  std::vector<StatisticsReader> statistics;
  std::vector<Scales> scales;
  std::vector<std::string> scale_names;
};

Inputs open_inputs(const StatisticsArguments& arguments, const Resources& resources) {
  Inputs inputs;
  const bool wants_scales = !arguments.scales_of.empty();
  for (const std::string& path : arguments.inputs) {
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::collection) {
      inputs.collections.push_back(CollectionReader::open(path));
      inputs.collections.back().verify(resources);
    } else if (kind == FileKind::statistics && !wants_scales) {
      inputs.statistics.push_back(StatisticsReader::open(path));
      inputs.statistics.back().container().verify(resources);
    } else if (kind == FileKind::scales && wants_scales) {
      inputs.scales.push_back(read_scales(ContainerReader::open(path, FileKind::scales)));
      inputs.scale_names.push_back(path);
    } else {
      throw InvalidArgument("{}: is a Quern {}; name collections and {}", path, kind_name(kind),
                            wants_scales ? "scale files" : "statistics files");
    }
  }
  return inputs;
}

void run_scales(const StatisticsArguments& arguments, const Resources& resources) {
  const StatisticsReader statistics = StatisticsReader::open(arguments.scales_of);
  statistics.container().verify(resources);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  Inputs inputs = open_inputs(arguments, resources);
  for (const CollectionReader& collection : inputs.collections) {
    inputs.scales.push_back(find_scales(collection, statistics, arguments.bm25, resources));
    inputs.scale_names.push_back(collection.name());
  }
  const Scales scales = merge_scales(inputs.scales, inputs.scale_names);
  write_scales(out.file(), scales);
  out.commit();
  say(arguments.common, "quern: the maximum term score of {} of {} is {}", scales.splits.size(),
      count_text(statistics.splits().size(), "split"), scales.top);
  if (arguments.common.json)
    print_json(Json{
        {"splits", scales.splits.size()}, {"of_splits", statistics.splits().size()}, {"quantize_top", scales.top}});
}

void note_duplicates(const StatisticsArguments& arguments, const Inputs& inputs, const StatisticsReader& merged) {
  const std::uint64_t duplicates = merged.manifest().duplicates;
  if (duplicates == 0) return;
  constexpr std::size_t max_examples = 3;
  std::string text = fmt::format("{} the docno of another",
                                 duplicates == 1 ? "1 document has" : fmt::format("{} documents have", duplicates));
  const std::vector<std::string> examples = repeated_docnos(merged, inputs.collections, max_examples);
  for (const std::string& docno : examples) text += (docno == examples.front() ? ", such as '" : ", '") + docno + "'";
  if (arguments.duplicates == Duplicates::refuse || merged.manifest().collection.duplicates == Duplicates::refuse)
    throw InvalidArgument(text + "; fix the corpus, or allow them with --duplicates keep");
  say(arguments.common, "quern: " + text);
}

void run_statistics(const StatisticsArguments& arguments, const Resources& resources) {
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  Inputs inputs = open_inputs(arguments, resources);
  for (const CollectionReader& collection : inputs.collections)
    inputs.statistics.push_back(statistics_of(collection, resources));
  const StatisticsManifest manifest = merge_statistics(inputs.statistics, resources, out.file());
  const StatisticsReader merged(
      ContainerReader(std::make_shared<const File>(out.file().duplicate()), FileKind::statistics));
  note_duplicates(arguments, inputs, merged);
  out.commit();
  const CollectionManifest& counts = manifest.collection;
  say(arguments.common, "quern: {} in {}, {}, {}", count_text(counts.documents, "document"),
      count_text(merged.splits().size(), "split"), count_text(counts.terms, "term"),
      count_text(counts.postings, "posting"));
  if (arguments.common.json)
    print_json(Json{{"splits", merged.splits().size()},
                    {"documents", counts.documents},
                    {"empty_documents", counts.empty_documents},
                    {"terms", counts.terms},
                    {"tokens", counts.tokens},
                    {"postings", counts.postings},
                    {"duplicates", manifest.duplicates},
                    {"documents_hash", hash_text(manifest.documents_hash)}});
}

void run(const StatisticsArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  if (arguments.scales_of.empty()) return run_statistics(arguments, resources);
  run_scales(arguments, resources);
}

}  // namespace

void add_statistics_command(CLI::App& program) {
  auto [command, arguments] = add_command<StatisticsArguments>(
      program, "statistics", "Combine the statistics of a corpus's splits, for shards", run);
  add_input_option(command, "INPUT", arguments.inputs, "",
                   "Collections of splits, and statistics files from this command, in any order")
      ->required();
  CLI::Option* scales = add_input_option(command, "--scales", arguments.scales_of, "STATISTICS",
                                         "Find the scale of quantized impacts instead, with these statistics of all "
                                         "splits; inputs are collections and scale files");
  add_value_option(command, "--duplicates", arguments.duplicates, duplicates_names,
                   "What to do with documents that share a docno")
      ->excludes(scales);
  add_bm25_options(command, arguments.bm25.k1, arguments.bm25.b, "the scale");
  for (const char* option : {"--k1", "--b"}) command.get_option(option)->needs(scales);
  add_output_options(command, arguments.common, arguments.output, "statistics");
  set_notes(
      command,
      {"Sums are byte for byte the same in whatever order or grouping they are computed. Each input counts: name a "
       "split twice only if the corpus has it twice. quern build refuses statistics of other splits than its own.",
       "Splits parsed with --duplicates refuse refuse documents that share a docno here too, and their bad "
       "documents count together for --max-errors. Splits parsed with --drop-copies are refused: it compares the "
       "pages of one split only."},
      {{"quern statistics split-*.collection -o my.statistics"},
       {"quern statistics a.statistics b.statistics -o my.statistics", "Merge statistics from other machines"},
       {"quern statistics --scales my.statistics split-*.collection -o my.scales",
        "For shards with quantized impacts"}});
}

}  // namespace quern::tools
