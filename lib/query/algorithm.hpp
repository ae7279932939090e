#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/query/top_k.hpp"

/// Query algorithms: functions from the posting lists of a query to its best documents.
namespace quern {

/// A term of a query with its list and its weight w_t.
struct WeightedList {
  PostingList list;
  float weight = 0;
};

/// What an algorithm reads besides the lists.
struct ScoringContext {
  const IndexReader* index = nullptr;
  std::span<const float> constants;  ///< K_d of each docID
};

struct QueryAlgorithm {
  /// As -a/--algorithm takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Whether a document must have all terms: then a term that is not in the index means no results.
  bool conjunctive = false;
  /// Adds to `top` what it needs, so that it holds the k best documents and their exact scores. `lists` come in the
  /// order of summation: increasing df, ties by lexicon number. At least one list.
  void (*run)(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) = nullptr;
};

/// All algorithms, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<QueryAlgorithm>& all_algorithms();

/// Throws InvalidArgument, with the names there are, where no algorithm is called so.
const QueryAlgorithm& algorithm_named(std::string_view name);

/// The exhaustive union, document at a time: every posting of every list is scored. The yardstick for all others.
void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);
/// The intersection, document at a time from the shortest list; scored where a document has all terms (D6).
void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

}  // namespace quern
