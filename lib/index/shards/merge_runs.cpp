#include "quern/index/shards/merge_runs.hpp"

#include <bit>
#include <list>
#include <unordered_map>

#include "quern/formats/queries/run_file.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

/// The runs' queries in an order consistent with each run, as far as possible.
class QueryOrder {
 public:
  /// Begins the next run.
  void begin_run() { before_ = qids_.end(); }
  /// Adds the next query of the run.
  void add(const std::string& qid) {
    const auto known = places_.find(qid);
    if (known != places_.end()) {
      before_ = known->second;
      return;
    }
    before_ = qids_.insert(before_ == qids_.end() ? qids_.begin() : std::next(before_), qid);
    places_.emplace(qid, before_);
  }
  std::vector<std::string> qids() const { return {qids_.begin(), qids_.end()}; }

 private:
  std::list<std::string> qids_;
  std::list<std::string>::iterator before_ = qids_.end();
  std::unordered_map<std::string, std::list<std::string>::iterator> places_;
};

/// A number that increases as scores decrease.
std::uint32_t falling(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score == 0 ? 0.0f : score);
  const bool is_negative = bits >> 31 != 0;
  return is_negative ? bits : ~bits & 0x7fffffffu;
}
float score_of(std::uint32_t falling) {
  return std::bit_cast<float>(falling >> 31 != 0 ? falling : ~falling & 0x7fffffffu);
}

class RunMerge {
 public:
  RunMerge(const std::vector<std::string>& paths, const MergeRunsOptions& options, const Resources& resources)
      : paths_(paths), options_(options), rows_(resources.tmp_folder, resources.memory_bytes / 2) {}

  MergeRunsReport run(const std::function<void(std::string_view)>& write) {
    read_queries();
    for (std::size_t run = 0; run < paths_.size(); ++run) read(run);
    merge(write);
    report_.queries = qids_.size();
    return report_;
  }

 private:
  /// Finds the queries and their order.
  void read_queries() {
    QueryOrder order;
    std::unordered_map<std::uint64_t, std::size_t> hashes;
    for (std::size_t run = 0; run < paths_.size(); ++run) {
      HashingSource source(ByteSource::open(paths_[run]));
      std::unordered_map<std::string, bool> met;
      std::optional<std::string> qid;
      order.begin_run();
      read_run(source, [&](const RunLineText& line, std::uint64_t number) {
        if (tag_.empty()) tag_ = options_.tag.empty() ? std::string(line.tag) : options_.tag;
        if (!qid || *qid != line.qid) {
          qid = line.qid;
          if (!met.emplace(*qid, true).second)
            throw InvalidArgument("{}, line {}: results of query {} are not contiguous", paths_[run], number, *qid);
          order.add(*qid);
        }
      });
      const auto [same, is_new] = hashes.emplace(source.hash(), run);
      if (!is_new && !met.empty())
        throw InvalidArgument("{}: is the same run as {}; name each shard's run once", paths_[run],
                              paths_[same->second]);
    }
    qids_ = options_.qids.empty() ? order.qids() : options_.qids;
    for (std::size_t i = 0; i < qids_.size(); ++i) places_.emplace(qids_[i], static_cast<std::uint32_t>(i));
    if (options_.qids.empty()) return;
    for (const std::string& qid : order.qids())
      if (!places_.contains(qid))
        throw InvalidArgument("the runs contain a query {} that is not among the queries", qid);
  }

  void read(std::size_t run) {
    const std::unique_ptr<ByteSource> source = ByteSource::open(paths_[run]);
    std::uint32_t query = 0, last = 0;
    std::string qid;
    bool is_first = true;
    read_run(*source, [&](const RunLineText& line, std::uint64_t number) {
      const std::uint32_t falls = falling(line.score);
      if (is_first || qid != line.qid) {
        qid = line.qid;
        query = places_.at(qid);
      } else if (falls < last) {
        throw InvalidArgument("{}, line {}: scores increase within query {}", paths_[run], number, qid);
      }
      is_first = false;
      last = falls;
      rows_.add(SortKey(query, falls, static_cast<std::uint32_t>(run), number).view(), as_bytes(line.docno));
      ++report_.results_read;
    });
  }

  void merge(const std::function<void(std::string_view)>& write) {
    const RunFormat& format = run_format_named("trec");
    std::vector<std::string> docnos;
    std::vector<float> scores;
    std::uint32_t query = 0;
    std::string text;
    const auto end_query = [&] {
      if (docnos.empty()) return;
      std::vector<RunResult> results;
      for (std::size_t i = 0; i < docnos.size(); ++i) results.push_back({docnos[i], scores[i], {}, {}});
      text.clear();
      format.append(text, qids_[query], {}, results, tag_);
      write(text);
      report_.results += docnos.size();
      docnos.clear();
      scores.clear();
    };
    rows_.merge([&](std::string_view key, ByteView docno) {
      const auto line_query = number_in_key<std::uint32_t>(key, 0);
      if (line_query != query) end_query();
      query = line_query;
      if (docnos.size() == options_.k) return;
      docnos.emplace_back(as_text(docno));
      scores.push_back(score_of(number_in_key<std::uint32_t>(key, sizeof line_query)));
    });
    end_query();
  }

  const std::vector<std::string>& paths_;
  const MergeRunsOptions& options_;
  ExternalSort rows_;
  std::vector<std::string> qids_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::string tag_;
  MergeRunsReport report_;
};

}  // namespace

MergeRunsReport merge_runs(const std::vector<std::string>& paths, const MergeRunsOptions& options,
                           const Resources& resources, const std::function<void(std::string_view)>& write) {
  return run_stage(resources, [&] { return RunMerge(paths, options, resources).run(write); });
}

}  // namespace quern
