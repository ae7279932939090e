#pragma once
#include <map>
#include <unordered_map>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// The feature with this name in a file; takes its number from the name if it is one, or one after "f" (XGBoost) or
/// "Column_" (LightGBM).
ModelFeature named_feature(std::string_view name);

/// Collects the features that a model uses.
class FeatureCollector {
 public:
  /// The index of the feature with the training program's number `index`. Its name is names[index], or `prefix` and the
  /// number if `names` is empty.
  std::uint32_t by_index(std::uint64_t index, const std::vector<std::string>& names, std::string_view prefix);
  /// The index of the feature with this name.
  std::uint32_t by_name(std::string_view name);

  /// The name of the feature with this index.
  const std::string& name(std::uint32_t feature) const { return features_[feature].name; }

  /// Names the features added by by_index(). False if a name is missing.
  bool rename(const std::vector<std::string>& names);

  /// Sorts the features by the training program's numbers; those without one come last, by first use. Returns the new
  /// index of each old one.
  std::vector<std::uint32_t> sort();
  std::vector<ModelFeature> take() { return std::move(features_); }

 private:
  std::uint32_t add(ModelFeature feature, std::uint64_t order);

  std::vector<ModelFeature> features_;
  std::vector<std::uint64_t> order_;  ///< by feature
  std::unordered_map<std::uint64_t, std::uint32_t> indexes_;
  std::unordered_map<std::string, std::uint32_t> names_;
};

/// The categories of a data frame's column. A model trained on the frame splits the column by their codes: 0 for the
/// first category, and so on.
struct ColumnCategories {
  std::vector<float> values;  ///< by code
  std::string obstacle;       ///< why features can't be compared with them; empty: they can

  void add(double value) { values.push_back(static_cast<float>(value)); }
  /// Adds a category that is not a number: an obstacle.
  void add_text(std::string_view value);
  /// Called after the last category: it is an obstacle if two of them are equal in float32.
  void check_distinct();
};

/// A tree as read from a file: nodes by number, in any order.
struct LooseTree {
  struct Node {
    std::int64_t left = -1, right = -1;  ///< numbers of nodes; both -1: a leaf
    std::uint32_t input = 0;             ///< of an inner node, as are the next members
    float threshold = 0;
    bool missing_left = false;
    double leaf = 0;  ///< a leaf's value
  };
  std::vector<Node> nodes;
};

/// Converts trees to the form of TreeEnsemble.
class TreeCollector {
 public:
  /// `name` is the file's name in messages.
  explicit TreeCollector(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  FeatureCollector& features() { return features_; }
  TreeEnsemble& trees() { return trees_; }
  const TreeEnsemble& trees() const { return trees_; }
  /// Returns the index of an input, and adds it if it is new. `feature` is an index in features().
  std::uint32_t input(std::uint32_t feature, TreeInputKind kind);
  /// Returns the index of an input of kind in_categories or in_values. `categories` may be in any order.
  std::uint32_t categories_input(std::uint32_t feature, std::vector<std::uint32_t> categories,
                                 TreeInputKind kind = TreeInputKind::in_categories);
  /// Makes `node`, a split of a data frame's column, split by the categories' values. `left`: which codes go left.
  /// `missing_left`: whether all other values do. Throws InvalidArgument if the values can't be split so.
  void split_by_values(LooseTree::Node& node, std::uint32_t feature, const ColumnCategories& column,
                       const std::vector<bool>& left, bool missing_left);
  /// Throws CorruptFile if all splits together have more than max_categories; called before they are stored.
  void count_categories(std::uint64_t some);

  /// Adds the tree below node `root` and returns its number of nodes; unreachable nodes are dropped. Throws
  /// CorruptFile, with tree and node, if a child doesn't exist or is reached twice, a threshold isn't a number, or a
  /// leaf's value isn't finite.
  std::size_t add(const LooseTree& tree, std::size_t root = 0);

  /// Builds the model of all trees. `columns` as in RankerModel.
  RankerModel finish(std::string_view format, std::uint64_t columns = 0);
  /// Throws CorruptFile about the current tree.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  /// A child to visit, and its place in the parent.
  struct Waiting {
    std::size_t node, parent;
    bool is_left;
  };
  /// Sorts the inputs by feature and kind.
  void sort_inputs();
  void add_leaf(const LooseTree::Node& node, std::size_t number, std::int32_t* parent);
  void add_inner(const LooseTree& tree, std::size_t number, std::int32_t* parent);
  std::size_t child_number(const LooseTree& tree, std::int64_t child, std::size_t parent) const;

  std::string name_;
  FeatureCollector features_;
  TreeEnsemble trees_;
  std::unordered_map<std::uint64_t, std::uint32_t> value_inputs_;
  std::map<std::tuple<std::uint32_t, TreeInputKind, std::vector<std::uint32_t>>, std::uint32_t> category_inputs_;
  std::uint64_t categories_ = 0;  ///< of all splits
  std::vector<bool> met_;         ///< by node of the current tree
  std::vector<Waiting> waiting_;
};

}  // namespace quern
