#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {
namespace {

/// Limit of category numbers.
constexpr std::int64_t category_limit = 1 << 24;

/// The arrays of a tree. XGBoost keeps a leaf's value where an inner node has its threshold.
struct XgboostTree {
  std::vector<std::int64_t> left, right, features, default_left, split_types;
  std::vector<std::int64_t> categories, category_nodes, category_segments, category_sizes;
  std::vector<float> conditions;
  std::string values_per_leaf;

  std::vector<std::int64_t>* integers(std::string_view key) {
    using Member = std::vector<std::int64_t> XgboostTree::*;
    constexpr std::pair<std::string_view, Member> members[] = {{"left_children", &XgboostTree::left},
                                                               {"right_children", &XgboostTree::right},
                                                               {"split_indices", &XgboostTree::features},
                                                               {"default_left", &XgboostTree::default_left},
                                                               {"split_type", &XgboostTree::split_types},
                                                               {"categories", &XgboostTree::categories},
                                                               {"categories_nodes", &XgboostTree::category_nodes},
                                                               {"categories_segments", &XgboostTree::category_segments},
                                                               {"categories_sizes", &XgboostTree::category_sizes}};
    for (const auto& [name, member] : members)
      if (name == key) return &(this->*member);
    return nullptr;
  }
};

/// The file's contents besides trees. Settings are texts.
struct XgboostHead {
  std::string booster, inner_booster, objective, base_score;
  std::string classes = "0", targets = "1", trees, features = "0", parallel_trees = "1";
  std::string best_iteration;             ///< of early stopping: the last one whose trees are used; empty: all are
  std::string estimator;                  ///< attributes of scikit-learn's interface, in JSON
  std::vector<std::int64_t> first_trees;  ///< by iteration, since version 1.7; then the number of trees
  std::vector<std::string> feature_names;
  std::vector<float> tree_weights;           ///< only for dart
  std::vector<ColumnCategories> categories;  ///< of a data frame's columns, since version 3.1; empty if not categorical
};

/// A column of a data frame as written: numbers, or texts, joined, with their offsets.
struct XgboostColumn {
  std::int64_t type = 0;
  std::vector<std::int64_t> values, offsets;
};

/// Finds `missing` among the settings of a scikit-learn estimator.
class EstimatorReader : public JsonEvents {
 public:
  void begin_object() override { ++depth_; }
  void end_object() override { --depth_; }
  void begin_array() override { ++depth_; }
  void end_array() override { --depth_; }
  void key(std::string_view name) override { is_missing_ = depth_ == 1 && name == "missing"; }
  void text(std::string_view) override {}
  void number(const JsonNumber& value) override {
    if (depth_ == 1 && is_missing_) value.get(missing_);
  }
  void boolean(bool) override {}

  double missing() const { return missing_; }

 private:
  std::size_t depth_ = 0;
  bool is_missing_ = false;
  double missing_ = std::numeric_limits<double>::quiet_NaN();
};

/// The log-odds of a probability, computed like XGBoost.
float logit(float probability) { return -std::log(1.0f / probability - 1.0f); }

class XgboostReader : public JsonEvents {
 public:
  /// `head`: of the same file, if it has been read before.
  XgboostReader(const ModelFile& file, std::string_view format, const XgboostHead* head = nullptr)
      : name_(file.name), format_(format), known_(head), trees_(file.name) {}

  void begin_object() override {
    if (path_.size() > max_depth) fail("has values nested deeper than XGBoost writes");
    path_.push_back(std::move(key_));
    key_.clear();
    if (is_tree_list(path_.size() - 1)) tree_ = {};
    if (is_data_frame(path_.size() - 1)) column_ = {};
  }
  void end_object() override {
    path_.pop_back();
    if (is_tree_list(path_.size())) end_tree();
    if (is_data_frame(path_.size())) end_column();
    key_.clear();
  }
  void begin_array() override {
    if (path_.size() > max_depth) fail("has values nested deeper than XGBoost writes");
    path_.push_back(std::move(key_));
    key_.clear();
    find_target();
  }
  void end_array() override {
    path_.pop_back();
    integers_ = nullptr;
    floats_ = nullptr;
    names_ = nullptr;
  }
  void key(std::string_view name) override { key_ = name; }

  void number(const JsonNumber& value) override {
    if (integers_) {
      std::int64_t integer = 0;
      if (!value.get(integer)) trees_.fail(fmt::format("{} has a number that is not an integer", path_.back()));
      integers_->push_back(integer);
    } else if (floats_) {
      float number = 0;
      if (!value.get(number)) trees_.fail(fmt::format("{} has a number that can't be read", path_.back()));
      floats_->push_back(number);
    } else if (key_ == "type" && is_data_frame(path_.size() - 1)) {
      value.get(column_.type);
    }
  }
  void boolean(bool value) override {
    if (integers_) integers_->push_back(value);
  }
  void text(std::string_view value) override {
    if (names_) names_->emplace_back(value);
    if (std::string* setting = find_setting()) *setting = value;
  }

  /// Whether the file must be read again with head(), since trees came before settings that they depend on.
  bool must_read_again() const {
    return !known_ && (trees_used(head_) != trees_used_ || head_.categories.size() != known_columns_);
  }
  /// The file's contents besides trees.
  const XgboostHead& head() const { return head_; }

  RankerModel finish() {
    check_head();
    TreeEnsemble& trees = trees_.trees();
    trees.sum = TreeSum::float32;
    trees.base = base();
    if (head_.booster == "dart") weigh_trees();
    name_features();
    std::uint64_t columns = 0;
    if (!parse_number(std::string_view(head_.features), columns))
      fail(fmt::format("has the num_feature '{:.40}', which is not a number", head_.features));
    return trees_.finish(format_, columns);
  }

 private:
  static constexpr std::size_t max_depth = 64;

  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: {}", name_, why); }

  /// Whether the first `depth` levels of the path end in a model's list of trees.
  bool is_tree_list(std::size_t depth) const {
    return depth >= 3 && path_[depth - 1] == "trees" && path_[depth - 2] == "model";
  }

  /// Whether the first `depth` levels of the path end in the list of a data frame's columns.
  bool is_data_frame(std::size_t depth) const {
    return depth >= 3 && path_[depth - 1] == "enc" && path_[depth - 2] == "cats";
  }

  void find_target() {
    const std::size_t depth = path_.size();
    const std::string& last = path_.back();
    if (is_tree_list(depth)) {
      trees_used_ = trees_used(known_ ? *known_ : head_);
      known_columns_ = head_.categories.size();
    }
    if (depth >= 2 && is_tree_list(depth - 2)) {
      integers_ = tree_.integers(last);
      if (last == "split_conditions") floats_ = &tree_.conditions;
      // A repeated array would be twice as long.
      if ((integers_ && !integers_->empty()) || (floats_ && !floats_->empty()))
        trees_.fail(fmt::format("has {} twice", last));
    } else if (depth >= 2 && is_data_frame(depth - 2)) {
      integers_ = last == "values" ? &column_.values : last == "offsets" ? &column_.offsets : nullptr;
    } else if (last == "iteration_indptr") {
      integers_ = &head_.first_trees;
    } else if (last == "weight_drop") {
      floats_ = &head_.tree_weights;
    } else if (last == "feature_names" && depth == 3) {
      names_ = &head_.feature_names;
    }
  }

  std::string* find_setting() {
    const std::size_t depth = path_.size();
    if (depth < 2 || names_) return nullptr;
    const std::string& in = path_.back();
    if (in == "learner_model_param") {
      if (key_ == "base_score") return &head_.base_score;
      if (key_ == "num_class") return &head_.classes;
      if (key_ == "num_feature") return &head_.features;
      if (key_ == "num_target") return &head_.targets;
    }
    if (in == "attributes") {
      if (key_ == "best_iteration") return &head_.best_iteration;
      if (key_ == "scikit_learn") return &head_.estimator;
    }
    if (in == "gbtree_model_param" && key_ == "num_trees") return &head_.trees;
    if (in == "gbtree_model_param" && key_ == "num_parallel_tree") return &head_.parallel_trees;
    if (in == "tree_param" && key_ == "size_leaf_vector") return &tree_.values_per_leaf;
    if (key_ != "name") return nullptr;
    if (in == "objective") return &head_.objective;
    if (in == "gradient_booster") return &head_.booster;
    return nullptr;
  }

  /// How many trees are used: after early stopping, those up to the best iteration, as XGBRanker.predict() uses them.
  std::uint64_t trees_used(const XgboostHead& head) const {
    if (head.best_iteration.empty()) return all_trees;
    std::uint64_t best = 0, parallel = 0;
    const std::size_t iterations = head.first_trees.size();
    if (!read_number(std::string_view(head.best_iteration), best) || best >= max_feature ||
        !read_number(std::string_view(head.parallel_trees), parallel) || parallel > max_feature ||
        (iterations != 0 && (best + 1 >= iterations || head.first_trees[best + 1] < 0)))
      fail(fmt::format("has the best_iteration '{:.40}', which is not one of its iterations", head.best_iteration));
    return iterations == 0 ? (best + 1) * std::max<std::uint64_t>(parallel, 1)
                           : static_cast<std::uint64_t>(head.first_trees[best + 1]);
  }

  void end_column() {
    ColumnCategories& made = head_.categories.emplace_back();
    const std::vector<std::int64_t>& offsets = column_.offsets;
    if (offsets.size() > 1) {
      const auto size = static_cast<std::int64_t>(column_.values.size());
      std::string first;
      for (std::int64_t i = std::max<std::int64_t>(offsets[0], 0); i < std::min(offsets[1], size); ++i)
        first += static_cast<char>(column_.values[static_cast<std::size_t>(i)]);
      made.values.resize(offsets.size() - 2);
      return made.add_text(first);
    }
    // UBJSON has no unsigned numbers of more than one byte.
    const double range = column_.type == 12 ? 0x1p16 : column_.type == 14 ? 0x1p32 : column_.type == 16 ? 0x1p64 : 0;
    for (const std::int64_t value : column_.values) made.add(static_cast<double>(value) + (value < 0 ? range : 0));
    made.check_distinct();
  }

  /// The categories of a data frame's column; null if its values are the tree's.
  const ColumnCategories* categories_of(std::size_t node) const {
    const std::vector<ColumnCategories>& all = known_ ? known_->categories : head_.categories;
    const auto column = static_cast<std::size_t>(tree_.features[node]);
    return column < all.size() && !all[column].values.empty() ? &all[column] : nullptr;
  }

  void end_tree() {
    const std::size_t count = tree_.left.size();
    const auto check = [&](const auto& numbers, std::string_view what) {
      if (numbers.size() != count)
        trees_.fail(fmt::format("{} has {} numbers for {} nodes", what, numbers.size(), count));
    };
    if (tree_.values_per_leaf.size() > 1 || tree_.values_per_leaf > "1")
      throw InvalidArgument(
          "{}: tree {} has several values in each leaf, which don't give a single score; train for one target", name_,
          trees_.trees().trees());
    check(tree_.right, "right_children");
    check(tree_.features, "split_indices");
    check(tree_.default_left, "default_left");
    check(tree_.conditions, "split_conditions");
    if (!tree_.split_types.empty()) check(tree_.split_types, "split_type");
    if (trees_read_++ >= trees_used_) return;
    loose_.nodes.assign(count, {});
    for (std::size_t i = 0; i < count; ++i) {
      LooseTree::Node& node = loose_.nodes[i];
      node.left = tree_.left[i];
      node.right = tree_.right[i];
      node.missing_left = tree_.default_left[i] != 0;
      if (node.left == -1) node.right = -1;
      if (node.left == -1)
        node.leaf = tree_.conditions[i];
      else if (tree_.split_types.empty() || tree_.split_types[i] == 0)
        set_threshold(node, i);
      // Other splits get their categories below.
    }
    set_categories();
    trees_.add(loose_);
  }

  std::uint32_t feature(std::size_t node) {
    const std::int64_t index = tree_.features[node];
    if (index < 0 || index > max_feature)
      trees_.fail(fmt::format("node {} has the invalid feature number {}", node, index));
    const std::vector<std::string> unnamed;
    const bool is_named = static_cast<std::size_t>(index) < head_.feature_names.size();
    return trees_.features().by_index(static_cast<std::uint64_t>(index), is_named ? head_.feature_names : unnamed, "f");
  }

  void set_threshold(LooseTree::Node& node, std::size_t number) {
    const float threshold = tree_.conditions[number];
    if (threshold == -std::numeric_limits<float>::infinity())
      trees_.fail(fmt::format("the threshold of node {} is -infinity", number));
    node.input = trees_.input(feature(number), TreeInputKind::value);
    if (categories_of(number)) trees_.fail(fmt::format("node {} compares categories with a threshold", number));
    node.threshold = greatest_float_below(threshold);
  }

  /// XGBoost sends a split's categories to the right, RankerModel to the left.
  void set_categories() {
    const std::size_t splits = tree_.category_nodes.size();
    std::vector<bool> done(loose_.nodes.size(), false);
    if (tree_.category_segments.size() != splits || tree_.category_sizes.size() != splits)
      trees_.fail("categories_nodes, categories_segments and categories_sizes have different lengths");
    const auto available = static_cast<std::int64_t>(tree_.categories.size());
    for (std::size_t split = 0; split < splits; ++split) {
      const std::int64_t at = tree_.category_nodes[split];
      const std::int64_t begin = tree_.category_segments[split], size = tree_.category_sizes[split];
      if (at < 0 || static_cast<std::uint64_t>(at) >= loose_.nodes.size() || begin < 0 || size < 0 ||
          begin > available || size > available - begin)
        trees_.fail("has categories of a node that does not exist, or beyond the end of the list");
      const auto number = static_cast<std::size_t>(at);
      LooseTree::Node& node = loose_.nodes[number];
      if (node.left == -1 || tree_.split_types.empty() || tree_.split_types[number] == 0 || done[number])
        trees_.fail(fmt::format("node {} has categories but is not a split by them, or has them twice", number));
      done[number] = true;
      trees_.count_categories(static_cast<std::uint64_t>(size));
      std::vector<std::uint32_t> categories;
      for (std::int64_t i = begin; i < begin + size; ++i) {
        const std::int64_t category = tree_.categories[static_cast<std::size_t>(i)];
        if (category < 0 || category >= category_limit)
          trees_.fail(fmt::format("node {} has the invalid category {}", number, category));
        categories.push_back(static_cast<std::uint32_t>(category));
      }
      if (const ColumnCategories* const column = categories_of(number)) {
        split_data_frame(number, *column, categories);
        continue;
      }
      node.input = trees_.categories_input(feature(number), std::move(categories));
      node.threshold = 0;
      std::swap(node.left, node.right);
      node.missing_left = !node.missing_left;
    }
    for (std::size_t i = 0; i < done.size(); ++i)
      if (loose_.nodes[i].left != -1 && !tree_.split_types.empty() && tree_.split_types[i] != 0 && !done[i])
        trees_.fail(fmt::format("node {} has no categories", i));
  }

  /// Values outside the categories count as missing; XGBoost refuses them.
  void split_data_frame(std::size_t number, const ColumnCategories& column,
                        const std::vector<std::uint32_t>& categories) {
    std::vector<bool> left(column.values.size(), true);
    for (const std::uint32_t category : categories) {
      if (category >= left.size())
        trees_.fail(fmt::format("node {} has category {}, but its column has {}", number, category, left.size()));
      left[category] = false;
    }
    LooseTree::Node& node = loose_.nodes[number];
    trees_.split_by_values(node, feature(number), column, left, node.missing_left);
  }

  void check_head() const {
    if (head_.booster == "gblinear")
      throw InvalidArgument(
          "{}: is a linear XGBoost model (gblinear), which Quern can't read; train trees (gbtree or dart)", name_);
    if (head_.booster != "gbtree" && head_.booster != "dart")
      fail(fmt::format("has the unknown booster '{:.40}'", head_.booster));
    std::uint64_t classes = 0, targets = 0;
    if (!read_number(std::string_view(head_.classes), classes) ||
        !read_number(std::string_view(head_.targets), targets))
      fail("has a num_class or num_target that is not a number");
    if (classes > 1 || targets > 1)
      throw InvalidArgument(
          "{}: is an XGBoost model of {} classes and {} targets, which don't give a single score; train a ranker, a "
          "regression or a binary classifier",
          name_, classes, targets);
    if (head_.objective.empty()) fail("has no objective");
    if (std::uint64_t trees = 0; !read_number(std::string_view(head_.trees), trees) || trees != trees_read_)
      fail(fmt::format("has {} trees, but num_trees is '{:.40}'", trees_read_, head_.trees));
    if (trees_used_ != all_trees && trees_used_ > trees_read_)
      fail(fmt::format("has {} trees, but its best_iteration needs {}", trees_read_, trees_used_));
    check_estimator();
  }

  /// Refuses a value that XGBoost's models of version 1 for scikit-learn treat as missing.
  void check_estimator() const {
    if (head_.estimator.empty()) return;
    EstimatorReader estimator;
    read_json(head_.estimator, name_ + ": attribute scikit_learn", estimator);
    if (!std::isnan(estimator.missing()))
      throw InvalidArgument(
          "{}: takes the value {} for a missing one, which Quern can't do; train with NaN for missing values", name_,
          estimator.missing());
  }

  /// The start of the trees' sum.
  float base() const {
    std::string_view text = trim(head_.base_score);
    // Since version 3.1, a list with one number per target.
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = trim(text.substr(1, text.size() - 2));
    float score = 0;
    if (!read_number(text, score) || !std::isfinite(score))
      fail(fmt::format("has the base_score '{:.40}', which is not a number", head_.base_score));
    const std::string& objective = head_.objective;
    const bool is_probability = objective == "binary:logistic" || objective == "reg:logistic";
    const bool is_exponent = objective == "count:poisson" || objective == "reg:gamma" || objective == "reg:tweedie" ||
                             objective == "survival:cox" || objective == "survival:aft";
    float base = score;
    if (is_probability) base = logit(score);
    if (is_exponent) base = std::log(score);
    if (!std::isfinite(base)) fail(fmt::format("has the base_score {}, which {} does not allow", score, objective));
    return base;
  }

  void weigh_trees() {
    TreeEnsemble& trees = trees_.trees();
    if (head_.tree_weights.size() != trees_read_)
      fail(fmt::format("weight_drop has {} numbers for {} trees", head_.tree_weights.size(), trees_read_));
    for (std::uint64_t tree = 0; tree < trees.trees(); ++tree) {
      for (std::uint64_t leaf = trees.first_leaf[tree]; leaf < trees.first_leaf[tree + 1]; ++leaf) {
        trees.leaves[leaf] = static_cast<float>(trees.leaves[leaf]) * head_.tree_weights[tree];
        if (!std::isfinite(trees.leaves[leaf])) fail(fmt::format("tree {} has an infinite weight or leaf", tree));
      }
    }
  }

  /// In JSON, names come before the trees, but this isn't guaranteed.
  void name_features() {
    if (!head_.feature_names.empty() && !trees_.features().rename(head_.feature_names))
      fail(fmt::format("has {} feature_names, but the trees use more features", head_.feature_names.size()));
  }

  static constexpr std::uint64_t all_trees = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::int64_t max_feature = std::numeric_limits<std::uint32_t>::max() - 1;

  std::string name_;
  std::string_view format_;
  const XgboostHead* known_;       ///< from an earlier reading
  std::vector<std::string> path_;  ///< keys of the open objects and arrays; empty in arrays
  std::string key_;
  std::vector<std::int64_t>* integers_ = nullptr;
  std::vector<float>* floats_ = nullptr;
  std::vector<std::string>* names_ = nullptr;
  XgboostHead head_;
  std::uint64_t trees_used_ = all_trees, trees_read_ = 0;
  std::size_t known_columns_ = 0;  ///< head_.categories when the trees began
  XgboostColumn column_;
  XgboostTree tree_;
  LooseTree loose_;
  TreeCollector trees_;
};

bool is_xgboost_json(std::string_view head) {
  return begins_with_tokens(head, {"{", "\"learner\""}) || begins_with_tokens(head, {"{", "\"version\""});
}

/// Whether `head` begins an object with the key "learner" or "version", whose length 7 has one of five types.
bool is_xgboost_ubjson(std::string_view head) {
  if (head.size() < 10 || head[0] != '{') return false;
  constexpr std::pair<char, std::size_t> length_bytes[] = {{'i', 1}, {'U', 1}, {'I', 2}, {'l', 4}, {'L', 8}};
  for (const auto& [type, bytes] : length_bytes) {
    const std::string_view key = head.substr(std::min(head.size(), 2 + bytes), 7);
    if (head[1] == type) return key == "learner" || key == "version";
  }
  return false;
}

/// Reads the content of model files, which is the same in JSON and UBJSON.
template <const ModelFormat& format, auto read_values>
RankerModel read_xgboost_model(const ModelFile& file) {
  XgboostReader reader(file, format.name);
  read_values(file.bytes, file.name, reader);
  if (!reader.must_read_again()) return reader.finish();
  XgboostReader again(file, format.name, &reader.head());
  read_values(file.bytes, file.name, again);
  return again.finish();
}

}  // namespace

const ModelFormat xgboost_json_format = {"xgboost-json", "XGBoost's model files in JSON", is_xgboost_json,
                                         read_xgboost_model<xgboost_json_format, read_json>};

const ModelFormat xgboost_ubjson_format = {"xgboost-ubjson", "XGBoost's model files in UBJSON", is_xgboost_ubjson,
                                           read_xgboost_model<xgboost_ubjson_format, read_ubjson>};

}  // namespace quern
