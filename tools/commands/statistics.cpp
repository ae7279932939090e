#include "quern/index/shards/statistics.hpp"

#include <fmt/format.h>

#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
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
  say(arguments.common, fmt::format("quern: the maximum term score of {} of {} is {}", scales.splits.size(),
                                    count_text(statistics.splits().size(), "split"), scales.top));
  if (arguments.common.json)
    print(
        Json{{"splits", scales.splits.size()}, {"of_splits", statistics.splits().size()}, {"quantize_top", scales.top}}
            .dump(1) +
        "\n");
}

void note_duplicates(const StatisticsArguments& arguments, const Inputs& inputs, const StatisticsReader& merged) {
  const std::uint64_t duplicates = merged.manifest().duplicates;
  if (duplicates == 0) return;
  constexpr std::size_t max_examples = 3;
  std::string text = fmt::format("{} the docno of another",
                                 duplicates == 1 ? "1 document has" : fmt::format("{} documents have", duplicates));
  const std::vector<std::string> examples = repeated_docnos(merged, inputs.collections, max_examples);
  for (const std::string& docno : examples) text += (docno == examples.front() ? ", such as '" : ", '") + docno + "'";
  if (arguments.duplicates == Duplicates::refuse)
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
  say(arguments.common, fmt::format("quern: {} in {}, {}, {}", count_text(counts.documents, "document"),
                                    count_text(merged.splits().size(), "split"), count_text(counts.terms, "term"),
                                    count_text(counts.postings, "posting")));
  if (arguments.common.json)
    print(Json{{"splits", merged.splits().size()},
               {"documents", counts.documents},
               {"empty_documents", counts.empty_documents},
               {"terms", counts.terms},
               {"tokens", counts.tokens},
               {"postings", counts.postings},
               {"duplicates", manifest.duplicates},
               {"documents_hash", hash_text(manifest.documents_hash)}}
              .dump(1) +
          "\n");
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
  add_option(command, "INPUT", arguments.inputs, "",
             "Collections of splits, and statistics files from this command, in any order")
      ->required();
  CLI::Option* scales = add_option(command, "--scales", arguments.scales_of, "STATISTICS",
                                   "Find the scale of quantized impacts instead, with these statistics of all "
                                   "splits; inputs are collections and scale files");
  add_value_option(command, "--duplicates", arguments.duplicates, duplicates_names,
                   "What to do with documents that share a docno:")
      ->excludes(scales);
  add_bm25_options(command, arguments.bm25.k1, arguments.bm25.b, "the scale");
  for (const char* option : {"--k1", "--b"}) command.get_option(option)->needs(scales);
  add_output_options(command, arguments.common, arguments.output, "statistics");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"Sums are byte for byte the same in whatever order or grouping they are computed; counting a split twice "
             "is an error."},
            {{"quern statistics split-*.collection -o my.statistics"},
             {"quern statistics a.statistics b.statistics -o my.statistics", "Merge statistics from other machines"},
             {"quern statistics --scales my.statistics split-*.collection -o my.scales",
              "For shards with quantized impacts"}});
}

}  // namespace quern::tools
