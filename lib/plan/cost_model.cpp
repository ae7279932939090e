#include "quern/plan/cost_model.hpp"

#include <limits>

#include "quern/search/algorithm.hpp"

namespace quern {
namespace {

/// `function`: a CostFunction, or another query's time.
template <class Function>
bool is_of(const Function& function, const QueryTime& time) {
  return function.device == time.device && function.algorithm == time.algorithm && function.strategy == time.strategy &&
         function.k == time.k && function.batch == time.batch;
}

CostFunction function_like(const QueryTime& time) {
  CostFunction function;
  function.device = time.device;
  function.algorithm = time.algorithm;
  function.strategy = time.strategy;
  function.k = time.k;
  function.batch = time.batch;
  return function;
}

/// Sets `known` to `text` if it is empty. Throws InvalidArgument if they differ.
void agree(std::string& known, const std::string& text, std::string_view what, const std::string& name) {
  if (!known.empty() && !text.empty() && known != text)
    throw InvalidArgument("{} is from a different {} than the previous files: {}, not {}", name, what, text, known);
  if (known.empty()) known = text;
}

/// The lower end of a query's class.
std::uint64_t class_of(std::uint64_t postings) {
  std::uint64_t from = 0;
  for (std::uint64_t next = 1000; next <= postings && next <= 1000000000; next *= 10) from = next;
  return from;
}

/// A cost that knows neither index nor machine: a fixed time per query or batch, and a time per posting, or per
/// document that an intersection looks up.
struct BuiltInCost {
  double fixed_us = 0, us = 0;
  bool looks_up = false;  ///< intersections: per document looked up
};

/// Rounded figures of four indexes on one machine: for GPUs see tests/bench/schedule.md, for the CPU 500 queries each
/// of manuals, learn-docs, Vaswani and a tenth of GOV2's size (Zen 4, `auto` and `and`, k = 10).
BuiltInCost built_in_cost(const CostQuestion& question) {
  const auto& algorithms = all_algorithms();
  const bool looks_up = std::any_of(algorithms.begin(), algorithms.end(), [&](const QueryAlgorithm& algorithm) {
    return algorithm.name == question.algorithm && algorithm.matching == Matching::all;
  });
  if (question.device == Processor::cpu) return looks_up ? BuiltInCost{5, 6e-3, true} : BuiltInCost{6, 1.4e-3, false};
  // The host prepares each query of a GPU's batch, and a single query can't use the whole GPU.
  constexpr double host_us = 1;
  const auto queries = static_cast<double>(std::max<std::size_t>(question.batch, 1));
  if (looks_up) return {host_us + 47 / queries, 2e-5 + 2.3e-4 / queries, true};
  return {host_us + 56 / queries, 2e-6 + 8e-6 / queries, false};
}

/// Converts a query's share of a batch's time to the time it adds to consecutive batches. Batches were timed alone, but
/// consecutive ones overlap, as their rate shows.
class JoiningShares {
 public:
  explicit JoiningShares(const QueryTimeTable& times) : times_(times) {}
  /// Microseconds that the query of this row adds to consecutive batches.
  double us(const QueryTime& row) {
    if (row.device == Processor::cpu) return row.us;
    const auto known =
        std::find_if(shares_.begin(), shares_.end(), [&](const auto& share) { return is_of(*share.first, row); });
    const double share = known != shares_.end() ? known->second : shares_.emplace_back(&row, share_like(row)).second;
    return std::max(row.us * share, std::numeric_limits<double>::min());
  }

 private:
  double share_like(const QueryTime& row) const {
    // The last matching rate counts.
    const auto rate = std::find_if(times_.rates.rbegin(), times_.rates.rend(), [&](const BatchRate& known) {
      return known.algorithm == row.algorithm && known.strategy == row.strategy && known.k == row.k &&
             known.batch == row.batch;
    });
    if (rate == times_.rates.rend()) return 1;
    double sum = 0;
    std::uint64_t queries = 0;
    for (const QueryTime& other : times_.rows)
      if (is_of(row, other)) sum += other.us, ++queries;
    const double share = 1e6 / rate->per_second * static_cast<double>(queries) / sum;
    return share > 0 && share < 1 ? share : 1;
  }

  const QueryTimeTable& times_;
  std::vector<std::pair<const QueryTime*, double>> shares_;
};

double distance(double a, double b) { return std::abs(std::log2(std::max(a, 1.0) / std::max(b, 1.0))); }

CostPredictor on_gpu(const CostModel& costs, const StreamWorkload& workload, std::size_t batch) {
  return costs.predictor({Processor::gpu, workload.algorithm, workload.strategy, workload.k, batch});
}

/// The inputs of cost functions, from a query's features.
CostInput cost_input(const QueryFeatures& features) {
  const auto logarithm = [](std::uint64_t x) { return std::log2(1 + static_cast<double>(x)); };
  return {logarithm(features.terms), logarithm(features.shortest), logarithm(features.second),
          logarithm(features.postings), logarithm(features.missing_bytes)};
}

}  // namespace

double cost_us(const CostFunction& function, const QueryFeatures& features) {
  return std::exp2(function.tree.at(cost_input(features)));
}

TimesOrigin check_same_origin(std::span<const TimesOrigin> origins) {
  TimesOrigin all;
  for (const TimesOrigin& file : origins) {
    agree(all.index_hash, file.index_hash, "index", file.name);
    agree(all.scoring, file.scoring, "scoring", file.name);
    agree(all.cpu, file.cpu, "CPU", file.name);
    agree(all.gpu, file.gpu, "GPU", file.name);
  }
  return all;
}

TimesOrigin check_same_origin(std::span<const QueryTimeTable> times) {
  const std::vector<TimesOrigin> origins(times.begin(), times.end());
  return check_same_origin(std::span(origins));
}

CostTable fit_costs(std::span<const QueryTimeTable> times) {
  CostTable table;
  static_cast<TimesOrigin&>(table) = check_same_origin(times);
  std::vector<std::vector<TreeSample>> samples;
  for (const QueryTimeTable& file : times) {
    JoiningShares joining(file);
    for (const QueryTime& row : file.rows) {
      const auto found = std::find_if(table.functions.begin(), table.functions.end(),
                                      [&](const CostFunction& function) { return is_of(function, row); });
      const auto place = static_cast<std::size_t>(found - table.functions.begin());
      if (found == table.functions.end()) {
        table.functions.push_back(function_like(row));
        samples.emplace_back();
      }
      samples[place].push_back({cost_input(row.features), std::log2(joining.us(row))});
    }
  }
  if (table.functions.empty()) throw InvalidArgument("no query times to fit costs to");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    table.functions[i].queries = samples[i].size();
    table.functions[i].tree = fit_model_tree(samples[i]);
  }
  return table;
}

CostError test_costs(const CostFunction& function, std::span<const QueryTimeTable> times) {
  CostError all;
  std::map<std::uint64_t, CostClass> classes;
  for (const QueryTimeTable& file : times) {
    JoiningShares joining(file);
    for (const QueryTime& row : file.rows) {
      if (!is_of(function, row)) continue;
      const double us = joining.us(row);
      const double off = std::abs(cost_us(function, row.features) - us) / us;
      CostClass& cost_class = classes[class_of(row.features.postings)];
      ++cost_class.queries, ++all.queries;
      cost_class.error += off, all.error += off;
    }
  }
  if (all.queries > 0) all.error /= static_cast<double>(all.queries);
  for (auto& [from, cost_class] : classes) {
    cost_class.from = from;
    cost_class.error /= static_cast<double>(cost_class.queries);
    all.classes.push_back(cost_class);
  }
  return all;
}

const CostFunction* CostModel::find(const CostQuestion& question) const {
  const auto off = [&](const CostFunction& function) {
    return distance(static_cast<double>(function.k), static_cast<double>(question.k)) +
           distance(static_cast<double>(function.batch), static_cast<double>(question.batch));
  };
  const CostFunction* best = nullptr;
  for (const CostFunction& function : table_.functions) {
    if (function.device != question.device || function.algorithm != question.algorithm ||
        function.strategy != question.strategy)
      continue;
    if (best == nullptr || off(function) < off(*best)) best = &function;
  }
  return best;
}

CostPredictor CostModel::predictor(const CostQuestion& question) const {
  if (const CostFunction* const function = find(question))
    return [function](const QueryFeatures& features) { return cost_us(*function, features); };
  return [cost = built_in_cost(question)](const QueryFeatures& features) {
    // A single list is read, not looked up.
    const std::uint64_t lookups = features.shortest * (features.terms > 1 ? features.terms - 1 : 1);
    return cost.fixed_us + cost.us * static_cast<double>(cost.looks_up ? lookups : features.postings);
  };
}

void add_list(QueryFeatures& features, std::uint64_t postings, std::uint64_t blocks) {
  if (features.terms == 0 || postings < features.shortest) {
    features.second = features.shortest;
    features.shortest = postings;
  } else if (features.terms == 1 || postings < features.second) {
    features.second = postings;
  }
  ++features.terms;
  features.postings += postings;
  features.blocks += blocks;
}

QueryFeatures features_of(const IndexReader& index, QueryView query, Matching matching) {
  const bool all_needed = matching == Matching::all;
  QueryFeatures features;
  const bool all_found = find_lists(index, query, all_needed, [&](const PostingList& list, double) {
    add_list(features, list.df, list.num_blocks(index.block_size()));
  });
  return all_needed && !all_found ? QueryFeatures{} : features;
}

QueryFeatures features_of(std::span<const QueryEngine* const> engines, QueryView query, Matching matching) {
  QueryFeatures features;
  for (const QueryTerm& term : query) {
    std::uint64_t postings = 0, blocks = 0;
    for (const QueryEngine* engine : engines) {
      const auto list = engine->find(term.term);
      if (!list) continue;
      postings += list->df;
      blocks += list->num_blocks(engine->index().block_size());
    }
    if (postings > 0)
      add_list(features, postings, blocks);
    else if (matching == Matching::all)
      return {};
  }
  return features;
}

QueryPredictor::QueryPredictor(const CostModel& costs, const StreamWorkload& workload)
    : cpu_(costs.predictor({Processor::cpu, workload.algorithm, {}, workload.k, 1})),
      gpu_(on_gpu(costs, workload, workload.max_batch)),
      alone_(on_gpu(costs, workload, 1)) {}

WaitingQuery QueryPredictor::predict(const QueryFeatures& features) const {
  WaitingQuery query;
  query.blocks = features.blocks;
  query.missing_bytes = features.missing_bytes;
  query.expected_cpu_us = cpu_(features);
  query.expected_gpu_us = gpu_(features);
  return query;
}

}  // namespace quern
