#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/search/top_k.hpp"

#include "result_fields.hpp"

namespace quern::tools {

/// Turns docIDs into what an output format shows of results. Safe to share between threads.
class ResultText {
 public:
  /// Results that are turned into text at once.
  static constexpr std::size_t max_results = 1024;

  /// `tag`: the run's name. `fields`: those that were asked for; null: title and URL. All must outlive the object.
  ResultText(const IndexShards& shards, const RunFormat& format, const std::string& tag, const ResultFields* fields,
             bool on_terminal)
      : shards_(shards), format_(format), tag_(tag), fields_(fields), on_terminal_(on_terminal) {}

  /// Calls write(text) for a query's results, once where there are at most max_results.
  void write(const Query& query, std::span<const ScoredDocument> documents,
             const std::function<void(std::string)>& write) const;

 private:
  /// `texts`: what the results are views of. `fields`: null if none were asked for.
  std::vector<RunResult> results_of(std::span<const ScoredDocument> documents,
                                    std::vector<IndexReader::DocumentText>& texts, ResultFields::OfQuery* fields) const;

  const IndexShards& shards_;
  const RunFormat& format_;
  const std::string& tag_;
  const ResultFields* fields_;
  bool on_terminal_;
};

}  // namespace quern::tools
