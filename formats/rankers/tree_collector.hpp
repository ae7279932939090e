#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// What a file calls a feature by `name`: its number too, if the name is one, or one after "f" (XGBoost) or "Column_"
/// (LightGBM).
ModelFeature named_feature(std::string_view name);

/// The features that a model reads: those that it uses.
class FeatureCollector {
 public:
  /// The place of the feature with the maker's number `index`, of which there are `names`, or none at all, in which
  /// case it is called `prefix` and its number.
  std::uint32_t by_index(std::uint64_t index, const std::vector<std::string>& names, std::string_view prefix);
  /// The place of the feature of that name.
  std::uint32_t by_name(std::string_view name);

  /// Gives the features that were added by_index() their names, by that number. False if one has none.
  bool rename(const std::vector<std::string>& names);

  /// Puts the features in the order of the maker's numbers, those without one last, by first use. Returns for each
  /// place so far where its feature is now.
  std::vector<std::uint32_t> sort();
  std::vector<ModelFeature> take() { return std::move(features_); }

 private:
  std::uint32_t add(ModelFeature feature, std::uint64_t order);

  std::vector<ModelFeature> features_;
  std::vector<std::uint64_t> order_;  ///< by feature
  std::unordered_map<std::uint64_t, std::uint32_t> indexes_;
  std::unordered_map<std::string, std::uint32_t> names_;
};

/// A tree as makers' files have it: nodes by number, in any order.
struct LooseTree {
  struct Node {
    std::int64_t left = -1, right = -1;  ///< numbers of nodes; both -1: a leaf
    std::uint32_t input = 0;             ///< of an inner node, as are the next ones
    float threshold = 0;
    bool missing_left = false;
    double leaf = 0;  ///< a leaf's value
  };
  std::vector<Node> nodes;
};

/// Puts makers' trees in the form of TreeEnsemble.
class TreeCollector {
 public:
  /// `name` is what messages call the file.
  explicit TreeCollector(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  FeatureCollector& features() { return features_; }
  TreeEnsemble& trees() { return trees_; }
  const TreeEnsemble& trees() const { return trees_; }
  /// The place of an input, which is made once. `feature` is a place in features().
  std::uint32_t input(std::uint32_t feature, TreeInputKind kind);
  /// Of the kind in_categories. `categories` may be in any order.
  std::uint32_t categories_input(std::uint32_t feature, std::vector<std::uint32_t> categories);

  /// Adds the tree below the node `root`; nodes that can't be reached from there are left out. Returns how many were
  /// not. Throws CorruptFile, with tree and node, if a child does not exist or is reached twice, a threshold is no
  /// number, or a leaf's value no finite one.
  std::size_t add(const LooseTree& tree, std::size_t root = 0);

  /// The model of all trees. `columns` as in RankerModel.
  RankerModel finish(std::string_view format, std::uint64_t columns = 0);
  /// Throws CorruptFile about the tree at hand, which has so many predecessors.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  /// A child that waits for its turn, and where its parent keeps it.
  struct Waiting {
    std::size_t node, parent;
    bool is_left;
  };
  /// Puts the inputs in the order of features, and of kinds of each.
  void sort_inputs();
  void add_leaf(const LooseTree::Node& node, std::size_t number, std::int32_t* parent);
  void add_inner(const LooseTree& tree, std::size_t number, std::int32_t* parent);
  std::size_t child_number(const LooseTree& tree, std::int64_t child, std::size_t parent) const;

  std::string name_;
  FeatureCollector features_;
  TreeEnsemble trees_;
  std::unordered_map<std::uint64_t, std::uint32_t> value_inputs_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> category_inputs_;
  std::vector<bool> met_;  ///< by node of the tree at hand
  std::vector<Waiting> waiting_;
};

}  // namespace quern
