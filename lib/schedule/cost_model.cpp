#include "quern/schedule/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "quern/core/error.hpp"
#include "quern/schedule/model_tree.hpp"

namespace quern {
namespace {

bool is_of(const CostFunction& function, const QueryTime& time) {
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

/// Takes over what a file says, unless another one said something else.
void agree(std::string& known, const std::string& text, std::string_view what, const std::string& name) {
  if (!known.empty() && !text.empty() && known != text)
    throw InvalidArgument(
        fmt::format("{} is of another {} than the files before: {}, not {}", name, what, text, known));
  if (known.empty()) known = text;
}

/// The lower end of a query's class.
std::uint64_t class_of(std::uint64_t postings) {
  std::uint64_t from = 0;
  for (std::uint64_t next = 1000; next <= postings && next <= 1000000000; next *= 10) from = next;
  return from;
}

/// What is known of no index and no machine: a fixed time, and one that grows with a power of the query's postings.
struct BuiltInCost {
  double fixed_us, us, power;
};

BuiltInCost built_in_cost(const CostQuestion& question) {
  if (question.device == Processor::cpu) return {2, 0.03, 0.8};
  // Besides, the host looks up its terms and takes its results.
  constexpr double host_us = 0.5;
  return {host_us + 50 / static_cast<double>(std::max<std::size_t>(question.batch, 1)), 2e-6, 1};
}

double distance(double a, double b) { return std::abs(std::log2(std::max(a, 1.0) / std::max(b, 1.0))); }

}  // namespace

CostInput cost_input(const QueryFeatures& features) {
  const auto logarithm = [](std::uint64_t x) { return std::log2(1 + static_cast<double>(x)); };
  return {logarithm(features.terms), logarithm(features.shortest), logarithm(features.second),
          logarithm(features.postings), logarithm(features.missing_bytes)};
}

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
    for (const QueryTime& row : file.rows) {
      const auto found = std::find_if(table.functions.begin(), table.functions.end(),
                                      [&](const CostFunction& function) { return is_of(function, row); });
      const auto place = static_cast<std::size_t>(found - table.functions.begin());
      if (found == table.functions.end()) {
        table.functions.push_back(function_like(row));
        samples.emplace_back();
      }
      samples[place].push_back({cost_input(row.features), std::log2(row.us)});
    }
  }
  if (table.functions.empty()) throw InvalidArgument("there are no query times to fit costs to");
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
    for (const QueryTime& row : file.rows) {
      if (!is_of(function, row)) continue;
      const double off = std::abs(cost_us(function, row.features) - row.us) / row.us;
      CostClass& of = classes[class_of(row.features.postings)];
      ++of.queries, ++all.queries;
      of.error += off, all.error += off;
    }
  }
  if (all.queries > 0) all.error /= static_cast<double>(all.queries);
  for (auto& [from, of] : classes) {
    of.from = from;
    of.error /= static_cast<double>(of.queries);
    all.classes.push_back(of);
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

double CostModel::expected_us(const CostQuestion& question, const QueryFeatures& features) const {
  if (const CostFunction* function = find(question)) return cost_us(*function, features);
  const BuiltInCost cost = built_in_cost(question);
  return cost.fixed_us + cost.us * std::pow(static_cast<double>(features.postings), cost.power);
}

}  // namespace quern
