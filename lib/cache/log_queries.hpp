#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// A query of a log, and how often it came.
struct LogQuery {
  std::vector<std::string> terms;  ///< sorted; those that stand twice in the query come twice
  std::uint64_t count = 0;
};

/// The distinct queries of a log: those with the same terms are one, whatever the order and the words between them.
/// Sorted outside the memory where the budget is too small for them.
class LogQueries {
 public:
  LogQueries(const AnalyzerOptions& analyzer, const Resources& resources);

  /// Adds a query as it stands in the log.
  void add(std::string_view text);
  /// Queries added, repetitions included.
  std::uint64_t queries() const { return queries_; }
  /// Calls visit(queries) for all distinct queries with a term at least, some thousand at a time, in the order of their
  /// terms; once. Returns how many there are.
  std::uint64_t for_each(const std::function<void(std::span<const LogQuery>)>& visit);

 private:
  Analyzer analyzer_;
  ExternalSort sorted_;
  std::uint64_t queries_ = 0;
};

}  // namespace quern
