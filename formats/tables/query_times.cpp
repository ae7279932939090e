#include "quern/formats/tables/query_times.hpp"

#include <fmt/format.h>

#include <iterator>

namespace quern {
namespace {

constexpr std::string_view time_columns =
    "query\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing";

void check(const QueryTime& time, const TabFields& row) {
  if (time.query == 0 || time.k == 0 || time.batch == 0)
    row.fail("has a query, k or batch of 0; all must be at least 1");
  if (!(time.us > 0)) row.fail("has a time that is not positive");
  const QueryFeatures& features = time.features;
  if (features.shortest > features.postings || features.second > features.postings ||
      (features.terms > 1 && features.second < features.shortest))
    row.fail("has lists whose lengths contradict each other");
}

QueryTime read_row(TabFields row) {
  QueryTime time;
  time.query = row.count();
  time.device = read_processor(row);
  time.algorithm = row.text();
  time.strategy = read_strategy(row);
  time.k = row.count();
  time.batch = row.count();
  time.us = row.number();
  QueryFeatures& features = time.features;
  for (std::uint64_t* feature : {&features.terms, &features.shortest, &features.second, &features.postings,
                                 &features.blocks, &features.missing_bytes})
    *feature = row.count();
  row.end();
  check(time, row);
  return time;
}

constexpr std::string_view rate_name = "#rate";

bool is_rate(std::string_view line) {
  return line.starts_with(rate_name) && line.substr(rate_name.size()).starts_with('\t');
}

BatchRate read_rate(TabFields row) {
  row.text();  // the description
  BatchRate rate;
  rate.algorithm = row.text();
  rate.strategy = row.text();
  rate.k = row.count();
  rate.batch = row.count();
  rate.per_second = row.number();
  row.end();
  if (rate.k == 0 || rate.batch == 0) row.fail("has a k or batch of 0; both must be at least 1");
  if (!(rate.per_second > 0)) row.fail("has a rate that is not positive");
  return rate;
}

struct HeadLine {
  std::string_view name;
  std::string TimesOrigin::*text;
};

constexpr HeadLine head_lines[] = {{"index", &TimesOrigin::index_hash},
                                   {"scoring", &TimesOrigin::scoring},
                                   {"cpu", &TimesOrigin::cpu},
                                   {"gpu", &TimesOrigin::gpu}};

}  // namespace

QueryTimeTable parse_query_times(std::string_view text, std::string_view name) {
  QueryTimeTable times;
  times.name = name;
  LineReader lines(without_byte_order_mark(text));
  bool has_columns = false;
  for (std::string_view line; lines.next(line);) {
    if (is_rate(line)) {
      times.rates.push_back(read_rate(TabFields(line, name, lines.number())));
      continue;
    }
    if (read_head_line(line, times)) continue;
    if (has_columns) {
      times.rows.push_back(read_row(TabFields(line, name, lines.number())));
      continue;
    }
    if (line != time_columns)
      fail_at_line(name, lines.number(), "does not name the columns of query times: it is not a file of query times");
    has_columns = true;
  }
  if (!has_columns) throw CorruptFile(times.name + " lacks the line with the columns of query times");
  check_has_index(times, "query times");
  return times;
}

std::string query_times_text(const QueryTimeTable& times) {
  std::string text = head_lines_text(times);
  for (const BatchRate& rate : times.rates)
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\n", rate_name, rate.algorithm, rate.strategy,
                   rate.k, rate.batch, rate.per_second);
  text.append(time_columns).append("\n");
  for (const QueryTime& time : times.rows) {
    const QueryFeatures& features = time.features;
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", time.query,
                   name_of_value(processor_names, time.device), time.algorithm, strategy_text(time.strategy), time.k,
                   time.batch, time.us, features.terms, features.shortest, features.second, features.postings,
                   features.blocks, features.missing_bytes);
  }
  return text;
}

bool read_head_line(std::string_view line, TimesOrigin& origin) {
  if (!line.starts_with('#')) return false;
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return true;
  for (const HeadLine& head : head_lines)
    // Trim white space such as a CR, which would not survive writing and reading.
    if (line.substr(1, tab - 1) == head.name) origin.*head.text = trim(line.substr(tab + 1));
  return true;
}

std::string head_lines_text(const TimesOrigin& origin) {
  std::string text;
  for (const HeadLine& head : head_lines) {
    if ((origin.*head.text).empty()) continue;
    text.append("#").append(head.name).append("\t").append(origin.*head.text).append("\n");
  }
  return text;
}

void check_has_index(const TimesOrigin& origin, std::string_view what) {
  if (origin.index_hash.empty())
    throw CorruptFile(origin.name + " does not name the index that its " + std::string(what) + " belong to");
}

namespace {

/// Limit of a time's logarithm, so that times are finite.
constexpr double max_log_time = 64;

CostFunction read_function(TabFields& row) {
  CostFunction function;
  function.device = read_processor(row);
  function.algorithm = row.text();
  function.strategy = read_strategy(row);
  function.k = row.count();
  function.batch = row.count();
  function.queries = row.count();
  const double error = row.number();
  if (error >= 0) function.error = error;
  if (function.k == 0 || function.batch == 0) row.fail("has a k or a batch of 0; both must be at least 1");
  return function;
}

std::uint32_t read_child(TabFields& row, std::size_t parent) {
  const std::uint64_t child = row.count();
  if (child <= parent || child > 0xffffffff) row.fail("leads to a node that does not follow it");
  return static_cast<std::uint32_t>(child);
}

ModelTreeNode read_split(TabFields& row, std::size_t place) {
  ModelTreeNode node;
  const std::string_view name = row.text();
  const auto* const input = std::find(cost_inputs.begin(), cost_inputs.end(), name);
  if (input == cost_inputs.end()) row.fail("names an unknown input");
  node.input = static_cast<std::size_t>(input - cost_inputs.begin());
  node.threshold = row.number();
  node.left = read_child(row, place);
  node.right = read_child(row, place);
  return node;
}

ModelTreeNode read_leaf(TabFields& row) {
  ModelTreeNode node;
  node.lowest = row.number();
  node.highest = row.number();
  if (node.lowest > node.highest) row.fail("has a lower bound above its upper bound");
  if (node.lowest < -max_log_time || node.highest > max_log_time) row.fail("has values beyond 2^64 microseconds");
  node.model.constant = row.number();
  for (double& weight : node.model.weights) weight = row.number();
  return node;
}

/// Throws unless each node's children exist.
void check_tree(const CostFunction& function, std::string_view name) {
  const std::vector<ModelTreeNode>& nodes = function.tree.nodes;
  const bool complete = std::all_of(nodes.begin(), nodes.end(), [&](const ModelTreeNode& node) {
    return node.left < nodes.size() && node.right < nodes.size();
  });
  if (nodes.empty() || !complete)
    throw CorruptFile("{}: the function for {:.40} lacks nodes of its tree", name, function.algorithm);
}

/// Reads the lines of functions and their nodes.
class TableReader {
 public:
  explicit TableReader(CostTable& table) : table_(table) {}

  void add(std::string_view line, std::uint64_t number) {
    TabFields row(line, table_.name, number);
    const std::string_view kind = row.text();
    if (kind == "function") {
      finish();
      table_.functions.push_back(read_function(row));
    } else if (table_.functions.empty()) {
      row.fail("is not a function, although cost tables begin with one");
    } else {
      std::vector<ModelTreeNode>& nodes = table_.functions.back().tree.nodes;
      if (kind == "split")
        nodes.push_back(read_split(row, nodes.size()));
      else if (kind == "leaf")
        nodes.push_back(read_leaf(row));
      else
        row.fail("is neither a function nor a split nor a leaf");
    }
    row.end();
  }
  /// Completes the last function.
  void finish() const {
    if (!table_.functions.empty()) check_tree(table_.functions.back(), table_.name);
  }

 private:
  CostTable& table_;
};

void append_node(std::string& text, const ModelTreeNode& node) {
  const auto out = std::back_inserter(text);
  if (!node.is_leaf()) {
    fmt::format_to(out, "split\t{}\t{}\t{}\t{}\n", cost_inputs[node.input], node.threshold, node.left, node.right);
    return;
  }
  fmt::format_to(out, "leaf\t{}\t{}\t{}", node.lowest, node.highest, node.model.constant);
  for (const double weight : node.model.weights) fmt::format_to(out, "\t{}", weight);
  text += '\n';
}

}  // namespace

double LinearCost::at(const CostInput& input) const {
  double sum = constant;
  for (std::size_t i = 0; i < input.size(); ++i) sum += weights[i] * input[i];
  return sum;
}

double ModelTree::at(const CostInput& input) const {
  const ModelTreeNode* node = nodes.data();
  while (!node->is_leaf()) node = &nodes[input[node->input] <= node->threshold ? node->left : node->right];
  const double value = node->model.at(input);
  // NaN, as from sums of huge weights, becomes a number in this order.
  return value > node->lowest ? std::min(value, node->highest) : node->lowest;
}

CostTable parse_cost_table(std::string_view text, std::string_view name) {
  CostTable table;
  table.name = name;
  TableReader reader(table);
  LineReader lines(without_byte_order_mark(text));
  for (std::string_view line; lines.next(line);)
    if (!read_head_line(line, table)) reader.add(line, lines.number());
  reader.finish();
  if (table.functions.empty()) throw CorruptFile(table.name + " has no functions that predict costs");
  check_has_index(table, "costs");
  return table;
}

std::string cost_table_text(const CostTable& table) {
  std::string text = head_lines_text(table);
  for (const CostFunction& function : table.functions) {
    fmt::format_to(std::back_inserter(text), "function\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
                   name_of_value(processor_names, function.device), function.algorithm,
                   strategy_text(function.strategy), function.k, function.batch, function.queries,
                   function.error.value_or(-1));
    for (const ModelTreeNode& node : function.tree.nodes) append_node(text, node);
  }
  return text;
}

}  // namespace quern
