#include "quern/eval/run_fusion.hpp"

#include <cmath>

#include "quern/eval/run_rows.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

constexpr double max_number = 1e9;

/// A document of the current query.
struct FusedDocument {
  std::string docno;
  double score = 0;
  std::uint32_t runs = 0;  ///< that have it
};

/// A document's place in a run.
struct RunResultScore {
  double score;
  std::uint32_t document;  ///< in the order of docnos
};

class RunFusion {
 public:
  RunFusion(std::span<const std::string> paths, const FusionOptions& options, const Resources& resources,
            const std::function<void(std::string_view)>& write)
      : paths_(paths), options_(options), resources_(resources), write_(write), rows_(resources), runs_(paths.size()) {
    check_options();
    report_.queries_of_runs.resize(paths.size());
  }

  FusionReport run() {
    for (const std::string& path : paths_) read(path);
    rows_.merge([&](const RunRows::Row& row) { take(row); });
    end_query();
    return report_;
  }

 private:
  /// A query's share of the memory. Growing vectors take up to three times as much.
  static constexpr std::uint64_t query_share = 8;

  void check_options() const {
    for (const double number : options_.weights)
      if (!(number >= 0 && number <= max_number))
        throw InvalidArgument("{}: {} is not a number from 0 to {:.0f}", option_name<"weights">, number, max_number);
    if (!(options_.rank_constant >= 0 && options_.rank_constant <= max_number))
      throw InvalidArgument("{}: {} is not a number from 0 to {:.0f}", option_name<"rrf-k">, options_.rank_constant,
                            max_number);
    check_range<std::uint64_t>("results per query", options_.k, 1, std::numeric_limits<std::uint64_t>::max());
  }

  void read(const std::string& path) {
    const std::unique_ptr<ByteSource> source = ByteSource::open(path, resources_);
    const bool needs_scores = options_.method != FusionMethod::rrf;
    const auto take_line = [&](const RunLineText& line, std::uint64_t number) {
      if (std::isnan(line.double_score) || (needs_scores && std::isinf(line.double_score)))
        throw CorruptFile("{}, line {}: the score is {}", source->name(), number,
                          std::isnan(line.double_score) ? "not a number, so the result has no rank"
                                                        : "infinite, so it can't be added to others; use rrf");
      if (needs_scores && !line.has_score)
        throw CorruptFile("{}, line {}: the run has ranks without scores; use rrf", source->name(), number);
      rows_.add(line.qid, line.docno, line.double_score, number);
      ++report_.results_read;
    };
    rows_.read_file(source->name(), "remove one of them", [&] { read_run(*source, take_line, RunScores::or_ranks); });
  }

  void take(const RunRows::Row& row) {
    if (row.begins_query) {
      end_query();
      qid_.assign(row.qid);
    }
    if (row.begins_document) {
      query_bytes_ += sizeof(FusedDocument) + row.docno.size();
      check_fits();
      documents_.push_back({std::string(row.docno)});
    }
    query_bytes_ += sizeof(RunResultScore);
    check_fits();
    runs_[row.file].push_back({row.value, static_cast<std::uint32_t>(documents_.size() - 1)});
  }

  void check_fits() const {
    if (query_bytes_ > resources_.memory_bytes / query_share || documents_.size() == ~std::uint32_t{0})
      throw InvalidArgument(
          "the {} documents of query {} in all runs don't fit in the memory; raise {}, or shorten the "
          "runs",
          documents_.size(), qid_, option_name<"memory">);
  }

  /// In the order of the runs: it decides how sums are rounded.
  void end_query() {
    if (documents_.empty()) return;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (runs_[run].empty()) continue;
      ++report_.queries_of_runs[run];
      add_run(run);
      runs_[run].clear();
    }
    for (FusedDocument& document : documents_) {
      if (options_.method == FusionMethod::combmnz) document.score *= document.runs;
      if (!std::isfinite(document.score))
        throw InvalidArgument("query {}: the scores of document {} are too large to be added", qid_, document.docno);
    }
    write_best();
    ++report_.queries;
    documents_.clear();
    query_bytes_ = 0;
  }

  void add_run(std::size_t run) {
    std::vector<RunResultScore>& results = runs_[run];
    std::sort(results.begin(), results.end(), [](const RunResultScore& a, const RunResultScore& b) {
      return a.score != b.score ? a.score > b.score : a.document > b.document;
    });
    const double weight = options_.weights.empty() ? 1 : options_.weights[run], lowest = results.back().score,
                 range = results.front().score - lowest;
    double rank = 0;
    for (const RunResultScore& result : results) {
      FusedDocument& document = documents_[result.document];
      double value = result.score;
      if (options_.method == FusionMethod::rrf)
        value = 1 / (options_.rank_constant + ++rank);
      else if (options_.normalization == ScoreNormalization::min_max)
        value = range > 0 ? (result.score - lowest) / range : 0;
      document.score += weight * value;
      ++document.runs;
    }
  }

  void write_best() {
    std::vector<std::uint32_t> order(documents_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return documents_[a].score != documents_[b].score ? documents_[a].score > documents_[b].score : a > b;
    });
    order.resize(std::min<std::uint64_t>(order.size(), options_.k));
    std::string text;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const FusedDocument& document = documents_[order[i]];
      append_trec_line(text, qid_, document.docno, i + 1, document.score, options_.tag);
    }
    report_.results += order.size();
    write_(text);
  }

  std::span<const std::string> paths_;
  const FusionOptions& options_;
  const Resources& resources_;
  const std::function<void(std::string_view)>& write_;
  RunRows rows_;
  FusionReport report_;
  // The current query.
  std::string qid_;
  std::vector<FusedDocument> documents_;           ///< by docno
  std::vector<std::vector<RunResultScore>> runs_;  ///< by run
  std::uint64_t query_bytes_ = 0;
};

}  // namespace

FusionReport fuse_runs(std::span<const std::string> paths, const FusionOptions& options, const Resources& resources,
                       const std::function<void(std::string_view)>& write) {
  return run_stage(resources, [&] { return RunFusion(paths, options, resources, write).run(); });
}

}  // namespace quern
