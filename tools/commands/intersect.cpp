#include "quern/search/intersect.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"

#include "command.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct IntersectArguments {
  CommonOptions common;
  QuerySource queries;
  std::string index, output, stats;
  std::optional<std::string> filter;
  api::IntersectSettings settings;
  GpuMemoryArguments gpu_memory;
  bool count = false;
};

using Documents = std::span<const docid_t>;

/// Writes a query's documents, a piece after the other: the text of all takes far more memory than they do.
class DocumentText {
 public:
  DocumentText(const IntersectArguments& arguments, const IndexReader& index, IndexPages& pages, TextOutput& out)
      : count_only_(arguments.count), json_(arguments.common.json), index_(index), pages_(pages), out_(out) {}

  void write(const Query& query, Documents documents) {
    if (json_) {
      write_json(query, documents);
    } else if (count_only_) {
      text_ = fmt::format("{}\t{}\n", query.id, documents.size());
      write_text();
    } else {
      write_lines(query, documents);
    }
  }

 private:
  static constexpr std::size_t piece_bytes = 1 << 16;

  /// A line for each document: the query's id, docID and docno.
  void write_lines(const Query& query, Documents documents) {
    for (const docid_t docid : documents) {
      fmt::format_to(std::back_inserter(text_), "{}\t{}\t{}\n", query.id, docid, index_.docno(docid));
      if (text_.size() >= piece_bytes) write_text();
    }
    write_text();
  }

  /// A line of JSON.
  void write_json(const Query& query, Documents documents) {
    text_ = fmt::format("{{\"id\":{},\"query\":{},\"count\":{}", json_text(query.id), json_text(query.text),
                        documents.size());
    if (!count_only_) {
      text_ += ",\"results\":[";
      for (const docid_t docid : documents) {
        if (docid != documents.front()) text_ += ',';
        fmt::format_to(std::back_inserter(text_), "{{\"docid\":{},\"docno\":{}}}", docid,
                       json_text(index_.docno(docid)));
        if (text_.size() >= piece_bytes) write_text();
      }
      text_ += ']';
    }
    text_ += "}\n";
    write_text();
  }

  void write_text() {
    out_.write(text_);
    text_.clear();
    pages_.note_query();
  }

  bool count_only_, json_;
  const IndexReader& index_;
  IndexPages& pages_;
  TextOutput& out_;
  std::string text_;
};

/// Collects the times and counts of queries, for --stats.
class IntersectStatistics {
 public:
  explicit IntersectStatistics(const std::string& tmp_folder) : times_us_(tmp_folder) {}

  void add(const IntersectionStatistics& statistics) {
    counts_ += statistics.counts;
    times_us_.add(statistics.time_us);
    decode_us_ += statistics.decode_us;
    intersect_us_ += statistics.intersect_us;
  }

  /// Queries that a GPU answered together in `time_us` microseconds.
  void add(const GpuIntersectionStatistics& gpu, double time_us) {
    gpu_ += gpu;
    counts_.postings += gpu.postings;
    for (std::uint64_t i = 0; i < gpu.queries; ++i) times_us_.add(time_us / static_cast<double>(gpu.queries));
  }
  void add_results(std::size_t documents) {
    results_ += documents;
    with_results_ += documents == 0 ? 0 : 1;
  }

  void write(StatisticsFile& file, const IntersectArguments& arguments, std::string_view method, unsigned threads,
             double seconds) const {
    const LatencySummary times = times_us_.summary();
    const auto queries = static_cast<double>(std::max<std::uint64_t>(times_us_.count(), 1));
    const double queries_per_second = static_cast<double>(times_us_.count()) / std::max(seconds, 1e-9);
    Json json = {{"queries", times_us_.count()},
                 {"queries_with_results", with_results_},
                 {"results", results_},
                 {"method", method},
                 {"segment", arguments.settings.options.segment},
                 {"threads", threads}};
    json.update(times_json(times));
    json.update({{"mean_decode_us", decode_us_ / queries},
                 {"mean_thin_out_us", intersect_us_ / queries},
                 {"queries_per_second", queries_per_second},
                 {"postings", counts_.postings},
                 {"blocks", counts_.blocks},
                 {"blocks_decoded", counts_.blocks_decoded},
                 {"device", device_name(gpu_.queries > 0)}});
    if (gpu_.queries > 0) json["gpu"] = gpu_statistics_json(gpu_);
    file.write(json.dump(1));
    say(arguments.common,
        "quern: {}, {:.0f} per second on {}; {:.1f} us per query, of which {:.1f} "
        "decoding whole lists and {:.1f} intersecting; {} of {} blocks decoded",
        count_text(times_us_.count(), "query", "queries"), queries_per_second, count_text(threads, "thread"),
        times.mean_us, decode_us_ / queries, intersect_us_ / queries, counts_.blocks_decoded, counts_.blocks);
  }

 private:
  QueryStatistics counts_;
  LatencyLog times_us_;
  double decode_us_ = 0, intersect_us_ = 0;
  std::uint64_t results_ = 0, with_results_ = 0;
  GpuIntersectionStatistics gpu_;
};

void run(const IntersectArguments& arguments) {
  Resources resources = make_resources(arguments.common, arguments.output);
  const api::Index opened = api::Index::open(arguments.index);
  const IndexReader& index = opened.impl()->whole();
  const std::optional<api::Filter> filter =
      open_filter(arguments.filter, arguments.queries.file, opened, resources, arguments.common);
  api::ShardGpuMemory gpu_memory(memory_options(arguments.gpu_memory), index, arguments.gpu_memory.plans);
  gpu_memory.take_pinned(arguments.settings.device, resources.memory_bytes);
  // Before the queries, which may take long to come.
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics_file(arguments.stats);
  const QueryGroups queries(arguments.queries, arguments.common, resources);
  api::IntersectSettings settings = arguments.settings;
  settings.gpu.memory = gpu_memory.options();
  settings.notice = remarks(arguments.common);
  api::IntersectProcessors processors(index, settings, api::query_memory(resources.memory_bytes, resources.threads),
                                      *resources.progress);
  const QueryReader reader = processors.reader(query_kind(arguments.queries.layout.format));
  resources.progress->start("intersect", queries.count(), "queries");
  IntersectStatistics statistics(resources.tmp_folder);
  IndexPages pages(index, resources.memory_bytes / 2);
  const std::vector<Query>* group = nullptr;
  std::span<const QueryView> views;
  UnknownQueries unknown(opened.impl()->shards);
  DocumentText text(arguments, index, pages, out);
  const auto begun = WallClock::now();
  IntersectionSteps steps;
  steps.take = [&](std::size_t i, Documents documents) {
    text.write((*group)[i], documents);
    if (documents.empty()) unknown.add((*group)[i], views[i]);
    statistics.add_results(documents.size());
    resources.progress->add(1);
  };
  steps.count_cpu = [&](const IntersectionStatistics& counted) { statistics.add(counted); };
  steps.count_gpu = [&](const GpuIntersectionStatistics& counted, double time_us) { statistics.add(counted, time_us); };
  queries.for_each([&](const std::vector<Query>& some) {
    group = &some;
    const ParsedQueries read = reader.read(texts_of(some), resources.threads);
    views = read.views();
    processors.run(views, filter ? filter->impl()->by_shard.front() : nullptr, resources.threads, steps,
                   resources.memory_bytes / 16);
  });
  const double seconds = seconds_since(begun);
  out.finish();
  resources.progress->finish();
  unknown.report(arguments.common);
  if (statistics_file)
    statistics.write(statistics_file, arguments, processors.method_name(), resources.threads, seconds);
}

}  // namespace

void add_intersect_command(CLI::App& program) {
  auto [command, arguments] = add_command<IntersectArguments>(
      program, "intersect", "Find all documents that contain every term of a query, without scores", run);
  api::IntersectSettings& intersect = arguments.settings;
  GpuMemoryArguments& gpu_memory = arguments.gpu_memory;
  add_index_argument(command, arguments.index);
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_terms);
  add_filter_option(command, arguments.filter);
  std::vector<std::string> methods = names_of(all_gpu_intersection_methods());
  for (const IntersectionMethod& method : all_intersection_methods())
    if (!has_named(all_gpu_intersection_methods(), method.name)) methods.emplace_back(method.name);
  const std::string method_help = with_choices(
      "How lists are intersected, from the shortest to the longest (default: the first one for the device). On the "
      "CPU:",
      all_intersection_methods());
  add_option(command, "--method", intersect.method, "NAME",
             with_choices(method_help + "\nOn a GPU:", all_gpu_intersection_methods()))
      ->check(name_validator(methods));
  add_number_option(command, "--segment", intersect.options.segment, "N", "For stride: docIDs per segment", 1u,
                    1u << 30);
  add_device_option(command, intersect.device, devices_one_at_a_time);
  add_gpu_option(command, intersect.gpu.gpu);
  add_gpus_option(command, intersect.gpu.gpus);
  add_batch_option(command, intersect.gpu.batch_queries);
  add_gpu_memory_options(command, gpu_memory);
  add_settings_option(
      command, "--gpu-options", "GPU settings; quern bench gpu-intersect --help-all says more",
      [&](CLI::App& settings) {
        add_number_option(settings, "--levels", intersect.gpu.levels, "N",
                          "For merge-find: levels of splitters; 0 is binary search", 0u, gpu::max_merge_find_levels);
        add_value_option(settings, "--bucketing", intersect.gpu.bucketing, switches,
                         "Group queries into batches by the length of their shortest lists (default: on for batched)");
        add_list_options(settings, gpu_memory.lists);
      });
  command.add_flag("--count", arguments.count, "Print only the number of documents of each query");
  command.add_flag("--json", arguments.common.json, "Print a line of JSON for each query");
  add_answer_options(command, arguments.common, arguments.output, arguments.stats);
  set_notes(
      command,
      {"Prints a line for each document: the query's id, docID and docno, separated by tabs, in docID order; with "
       "--count, a line for each query: its id and the number of documents, even if that is 0. A query with a term "
       "that is not indexed has no documents. --stats separates the time for decoding whole lists from the time for "
       "intersecting them."},
      {{"quern intersect my.quern --query \"water mill\""},
       {"quern intersect my.quern -q log.txt --count --method stride --segment 64 --stats stride.json -o counts.txt"},
       {"quern intersect my.quern -q log.txt --device auto --method merge-find --gpu-options levels=2 -o found.txt"}});
}

}  // namespace quern::tools
