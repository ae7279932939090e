#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "quern/formats/rankers/lightgbm_model.hpp"
#include "quern/formats/rankers/model_format.hpp"

namespace quern {
namespace {

constexpr int categorical_bit = 1, default_left_bit = 2, missing_shift = 2;

/// Reads a column's values: "none", "[LEAST:GREATEST]", or its categories with colons between them.
LightgbmColumn lightgbm_column(std::string_view text) {
  LightgbmColumn column;
  const bool is_numeric = text.starts_with('[') && text.ends_with(']');
  if (is_numeric) text = text.substr(1, text.size() - 2);
  column.is_categorical = !is_numeric && text != "none";
  while (!text.empty())
    if (double value = 0; read_number(take_until(text, ':'), value)) column.add(value);
  return column;
}

/// Reads the numbers of a line "name=1 2 3".
template <class Number>
void read_numbers(std::string_view text, std::vector<Number>& numbers, const TreeCollector& trees,
                  std::string_view name) {
  numbers.clear();
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    Number number = 0;
    if (!read_number(word, number)) trees.fail(fmt::format("{} has '{:.40}', which is not a valid number", name, word));
    numbers.push_back(number);
  }
}

/// A tree's lines as written.
struct LightgbmTree {
  std::uint64_t leaves = 0, categorical_splits = 0;
  std::vector<std::uint64_t> features;
  std::vector<double> thresholds, leaf_values;
  std::vector<int> decisions;
  std::vector<std::int64_t> left, right;
  std::vector<std::uint64_t> boundaries;
  std::vector<std::uint32_t> category_bits;
  bool is_linear = false;
};

class LightgbmReader {
 public:
  explicit LightgbmReader(const ModelFile& file) : file_(file), trees_(file.name, head_) {}

  RankerModel read() {
    read_tail();
    for (std::string_view text = file_.bytes; !text.empty();) {
      std::string_view value = take_until(text, '\n');
      if (value.ends_with('\r')) value.remove_suffix(1);
      const std::string_view key = take_until(value, '=');
      if (key == "end of trees") {
        ended_ = true;
        break;
      }
      if (key == "Tree")
        begin_tree();
      else if (in_tree_)
        read_tree_line(key, value);
      else
        read_head_line(key, value);
    }
    end_tree();
    if (!in_tree_) check_lightgbm_head(head_, file_.name);
    // Version 2 doesn't mark the end of files.
    if (!ended_ && head_.version != "v2")
      throw CorruptFile(file_.name + ": ends before the last tree: the LightGBM model is truncated");
    return trees_.finish(head_, lightgbm_format.name);
  }

 private:
  std::uint64_t head_number(std::string_view key, std::string_view value) const {
    std::uint64_t number = 0;
    if (!read_number(trim(value), number))
      throw CorruptFile("{}: {} is '{:.40}', which is not a valid number", file_.name, key, value);
    return number;
  }

  /// The rest of the last line that begins with `key`.
  std::string_view last_line(std::string_view key) const {
    const std::size_t found = file_.bytes.rfind(key);
    std::string_view rest = found == std::string_view::npos ? "" : file_.bytes.substr(found + key.size());
    return trim(take_until(rest, '\n'));
  }

  /// What follows the trees: a parameter, and the line that LightGBM's Python package adds.
  void read_tail() {
    if (const std::string_view json = last_line("\npandas_categorical:"); !json.empty()) {
      DataFrameReader reader(file_.name);
      read_json(json, file_.name, reader);
      head_.data_frame = reader.take();
    }
    std::string_view rest = last_line("\n[categorical_feature:");
    if (rest.empty()) return;
    std::vector<std::uint64_t>& found = head_.categorical_columns.emplace();
    for (std::string_view list = take_until(rest, ']'); !list.empty();)
      if (std::uint64_t column = 0; read_number(trim(take_until(list, ',')), column)) found.push_back(column);
  }

  void read_head_line(std::string_view key, std::string_view value) {
    if (key == "version") head_.version = trim(value);
    if (key == "objective") head_.objective = trim(value);
    if (key == "num_class") head_.classes = head_number(key, value);
    if (key == "num_tree_per_iteration") head_.trees_per_iteration = head_number(key, value);
    if (key == "average_output") head_.averages = true;
    if (key == "max_feature_idx") {
      head_.features = head_number(key, value) + 1;
      head_.has_features = head_.features != 0;
    }
    if (key == "feature_infos") {
      for (std::string_view word = next_word(value); !word.empty(); word = next_word(value))
        head_.columns.push_back(lightgbm_column(word));
    }
    if (key == "feature_names") {
      while (!value.empty())
        if (const std::string_view name = take_until(value, ' '); !name.empty()) head_.names.emplace_back(name);
    }
  }

  void begin_tree() {
    if (in_tree_)
      end_tree();
    else
      check_lightgbm_head(head_, file_.name);
    in_tree_ = true;
    tree_ = {};
  }

  void read_tree_line(std::string_view key, std::string_view value) {
    const auto numbers = [&](auto& to) { read_numbers(value, to, trees_, key); };
    if (key == "num_leaves") tree_.leaves = head_number(key, value);
    if (key == "num_cat") tree_.categorical_splits = head_number(key, value);
    if (key == "is_linear") tree_.is_linear = trim(value) != "0";
    if (key == "split_feature") numbers(tree_.features);
    if (key == "threshold") numbers(tree_.thresholds);
    if (key == "decision_type") numbers(tree_.decisions);
    if (key == "left_child") numbers(tree_.left);
    if (key == "right_child") numbers(tree_.right);
    if (key == "leaf_value") numbers(tree_.leaf_values);
    if (key == "cat_boundaries") numbers(tree_.boundaries);
    if (key == "cat_threshold") numbers(tree_.category_bits);
  }

  void check_counts() const {
    const auto check = [&](const auto& numbers, std::string_view what, std::uint64_t count) {
      if (numbers.size() != count)
        trees_.fail(fmt::format("{} numbers in {} for {} leaves", numbers.size(), what, tree_.leaves));
    };
    if (tree_.is_linear)
      throw InvalidArgument(
          "{}: tree {} has linear models in its leaves, which Quern can't read; train without linear_tree", file_.name,
          trees_.trees().trees());
    if (tree_.leaves == 0) trees_.fail("has no leaves");
    check(tree_.leaf_values, "leaf_value", tree_.leaves);
    if (tree_.leaves == 1) return;
    const std::uint64_t nodes = tree_.leaves - 1;
    check(tree_.features, "split_feature", nodes);
    check(tree_.thresholds, "threshold", nodes);
    check(tree_.left, "left_child", nodes);
    check(tree_.right, "right_child", nodes);
    if (!tree_.decisions.empty()) check(tree_.decisions, "decision_type", nodes);
  }

  /// The categories of bit set `split` of the tree.
  std::vector<std::uint32_t> categories(double split) {
    const auto at = static_cast<std::uint64_t>(split >= 0 && split < 1e9 ? split : 1e9);
    const std::vector<std::uint64_t>& ends = tree_.boundaries;
    if (at + 1 >= ends.size() || ends[at] > ends[at + 1] || ends[at + 1] > tree_.category_bits.size())
      trees_.fail("a split's categories are outside of cat_boundaries and cat_threshold");
    for (std::uint64_t word = ends[at]; word < ends[at + 1]; ++word)
      trees_.count_categories(static_cast<unsigned>(std::popcount(tree_.category_bits[word])));
    std::vector<std::uint32_t> found;
    for (std::uint64_t word = ends[at]; word < ends[at + 1]; ++word) {
      for (std::uint32_t bit = 0; bit < 32; ++bit)
        if (tree_.category_bits[word] >> bit & 1)
          found.push_back(static_cast<std::uint32_t>(32 * (word - ends[at])) + bit);
    }
    return found;
  }

  /// LightGBM numbers inner nodes from 0, and leaves as -1, -2, and so on. Here leaves come after inner nodes.
  std::int64_t node_number(std::int64_t child) const {
    const auto nodes = static_cast<std::int64_t>(tree_.leaves) - 1;
    if (child >= nodes || child < -nodes - 1) trees_.fail(fmt::format("the child {} does not exist", child));
    return child >= 0 ? child : nodes - child - 1;
  }

  void set_split(LooseTree::Node& node, std::size_t split) {
    const std::uint64_t index = tree_.features[split];
    if (index >= head_.features)
      trees_.fail(fmt::format("node {} uses feature {}, but there are only {} features", split, index, head_.features));
    const std::uint32_t feature = trees_.features().by_index(index, head_.names, "Column_");
    const int decision = tree_.decisions.empty() ? 0 : tree_.decisions[split];
    const int missing = decision >> missing_shift & 3;
    node.left = node_number(tree_.left[split]);
    node.right = node_number(tree_.right[split]);
    LightgbmSplit made;
    made.feature = index;
    made.is_categorical = (decision & categorical_bit) != 0;
    if (missing > 2 && !made.is_categorical)
      trees_.fail(fmt::format("node {} has the unknown decision_type {}", split, decision));
    made.default_left = (decision & default_left_bit) != 0;
    made.missing = static_cast<LightgbmMissing>(missing);
    if (made.is_categorical)
      made.categories = categories(tree_.thresholds[split]);
    else
      made.threshold = tree_.thresholds[split];
    trees_.set_split(node, feature, std::move(made));
  }

  void end_tree() {
    if (!in_tree_) return;
    check_counts();
    const std::size_t splits = tree_.leaves - 1;
    loose_.nodes.assign(splits + tree_.leaves, {});
    for (std::size_t split = 0; split < splits; ++split) set_split(loose_.nodes[split], split);
    for (std::size_t leaf = 0; leaf < tree_.leaves; ++leaf) loose_.nodes[splits + leaf].leaf = tree_.leaf_values[leaf];
    if (trees_.add(loose_) != loose_.nodes.size())
      throw CorruptFile("{}: tree {}: its root does not reach all of its nodes", file_.name,
                        trees_.trees().trees() - 1);
  }

  const ModelFile& file_;
  LightgbmHead head_;
  bool in_tree_ = false, ended_ = false;
  LightgbmTree tree_;
  LooseTree loose_;
  LightgbmTrees trees_;
};

bool is_lightgbm(std::string_view head) {
  if (head.substr(0, 4) != "tree") return false;
  head.remove_prefix(4);
  return trim(head).substr(0, 8) == "version=";
}

RankerModel read_lightgbm(const ModelFile& file) { return LightgbmReader(file).read(); }

}  // namespace

const ModelFormat lightgbm_format = {"lightgbm", "LightGBM's text files, v2 to v4", is_lightgbm, read_lightgbm};

}  // namespace quern
