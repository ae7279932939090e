#include "quern/intersect/intersect.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <memory>

#include "quern/core/bytes.hpp"

#include "command.hpp"
#include "query_figures.hpp"
#include "query_source.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  QuerySource queries;
  std::string index, output, stats;
  std::string method{all_intersection_methods().front().name};
  IntersectionOptions options;
  bool count = false;
};

/// A query's documents as lines: its id and their number, or its id, docID and docno of each.
void append_lines(std::string& out, const Query& query, const IndexReader& index, const IntersectionAnswer& answer,
                  bool count) {
  if (count) {
    fmt::format_to(std::back_inserter(out), "{}\t{}\n", query.id, answer.documents.size());
    return;
  }
  for (const docid_t docid : answer.documents)
    fmt::format_to(std::back_inserter(out), "{}\t{}\t{}\n", query.id, docid, index.docno(docid));
}

/// The same as a line of JSON.
void append_json(std::string& out, const Query& query, const IndexReader& index, const IntersectionAnswer& answer,
                 bool count) {
  Json json = {{"id", query.id}, {"query", query.text}, {"count", answer.documents.size()}};
  if (!count) {
    Json& results = json["results"] = Json::array();
    for (const docid_t docid : answer.documents) results.push_back({{"docid", docid}, {"docno", index.docno(docid)}});
  }
  out += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Gathers what the queries took, for --stats.
class RunStatistics {
 public:
  void add(const IntersectionAnswer& answer) {
    const IntersectionStatistics& statistics = answer.statistics;
    counts_ += statistics.counts;
    times_us_.push_back(statistics.time_us);
    decode_us_ += statistics.decode_us;
    thin_out_us_ += statistics.thin_out_us;
    results_ += answer.documents.size();
    with_results_ += answer.documents.empty() ? 0 : 1;
  }

  void write(const Arguments& arguments, unsigned threads, double seconds) const {
    const LatencySummary times = summarize(times_us_);
    const auto queries = static_cast<double>(std::max<std::size_t>(times_us_.size(), 1));
    const double queries_per_second = static_cast<double>(times_us_.size()) / std::max(seconds, 1e-9);
    Json json = {{"queries", times_us_.size()}, {"queries_with_results", with_results_}, {"results", results_},
                 {"method", arguments.method},  {"segment", arguments.options.segment},  {"threads", threads}};
    json.update(times_json(times));
    json.update({{"mean_decode_us", decode_us_ / queries},
                 {"mean_thin_out_us", thin_out_us_ / queries},
                 {"queries_per_second", queries_per_second},
                 {"postings", counts_.postings},
                 {"blocks", counts_.blocks},
                 {"blocks_decoded", counts_.blocks_decoded}});
    AtomicOutput file = AtomicOutput::file(arguments.stats, true);
    file.file().write_at(0, as_bytes(json.dump(1) + "\n"));
    file.commit();
    say(arguments.common,
        fmt::format("quern: {} queries, {:.0f} a second on {} threads; a query takes {:.1f} us on "
                    "average, {:.1f} of them to decode whole lists and {:.1f} to thin out; {} of {} "
                    "blocks decoded",
                    times_us_.size(), queries_per_second, threads, times.mean_us, decode_us_ / queries,
                    thin_out_us_ / queries, counts_.blocks_decoded, counts_.blocks));
  }

 private:
  QueryStatistics counts_;
  std::vector<double> times_us_;
  double decode_us_ = 0, thin_out_us_ = 0;
  std::uint64_t results_ = 0, with_results_ = 0;
};

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> queries = read_queries(arguments.queries);
  std::vector<std::string_view> texts;
  for (const Query& query : queries) texts.push_back(query.text);
  TextOutput out(arguments.output, arguments.common.force);
  const Intersection intersection(index, intersection_method_named(arguments.method), arguments.options);
  const auto append = arguments.common.json ? append_json : append_lines;
  resources.progress->start("intersect", queries.size(), "queries");
  RunStatistics statistics;
  std::string text;
  const auto begun = std::chrono::steady_clock::now();
  intersect_batch(intersection, texts, resources.threads, [&](std::size_t i, const IntersectionAnswer& answer) {
    text.clear();
    append(text, queries[i], index, answer, arguments.count);
    out.write(text);
    statistics.add(answer);
    resources.progress->add(1);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  out.finish();
  resources.progress->finish();
  if (!arguments.stats.empty()) statistics.write(arguments, resources.threads, seconds);
}

}  // namespace

void add_intersect_command(CLI::App& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      program.add_subcommand("intersect", "Find all documents that have all terms of a query, without scores");
  command->add_option("INDEX", arguments->index, "What quern index or quern build wrote")->type_name("")->required();
  add_query_source_options(*command, arguments->queries);
  std::vector<std::string> methods;
  std::string method_help = "How lists are intersected, the shortest with one longer list after another:";
  for (const IntersectionMethod& method : all_intersection_methods()) {
    methods.emplace_back(method.name);
    method_help += fmt::format("\n  {}: {}", method.name, method.description);
  }
  command->add_option("--method", arguments->method, method_help)
      ->type_name("NAME")
      ->check(name_validator(methods))
      ->capture_default_str();
  command->add_option("--segment", arguments->options.segment, "stride: docIDs a segment")
      ->type_name("N")
      ->check(range_validator(1u, 1u << 30))
      ->capture_default_str();
  command->add_flag("--count", arguments->count, "Print how many documents each query finds, not which");
  command->add_flag("--json", arguments->common.json, "Print a line of JSON for each query");
  command->add_option("-o,--output", arguments->output, "Write to a file, not to standard output")->type_name("FILE");
  command->add_flag("--force", arguments->common.force, "Overwrite existing output");
  command->add_option("--stats", arguments->stats, "Write times and counts to a file, as JSON")->type_name("FILE");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nPrints the query's id, docID and docno of each document, in docID order, between tabs; with --count the id "
      "and\n"
      "the number of documents, also where there are none. A term that is not in the index leaves a query without\n"
      "documents. --stats tells the time for decoding whole lists from that for thinning out.\n"
      "\nExamples:\n  quern intersect my.quern --query \"water mill\"\n"
      "  quern intersect my.quern -q log.txt --count --method stride --segment 64 --stats stride.json -o counts.txt");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
