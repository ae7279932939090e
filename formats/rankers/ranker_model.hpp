#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "quern/core/named.hpp"

/// Learned models that give a document a score by its features, in one form whatever program trained them.
///
/// A model reads an array of float32 feature values, one per entry of RankerModel::features. NaN is a missing value.
/// A name is a *feature* throughout; an *input* is what a tree or a network reads, made of one feature.
namespace quern {

/// How a tree's input is made of a feature's value x.
enum class TreeInputKind : std::uint8_t {
  value,          ///< x
  zero_missing,   ///< missing if x is NaN or |x| <= 1e-35f, else x (LightGBM's missing type Zero)
  nan_is_zero,    ///< 0 if x is NaN, else x (LightGBM's missing type None)
  in_categories,  ///< missing if x is NaN; 0 if x, cut to an integer, is one of the categories, else 1
};

struct TreeInput {
  std::uint32_t feature = 0;  ///< place in RankerModel::features
  TreeInputKind kind = TreeInputKind::value;
  std::vector<std::uint32_t> categories;  ///< rising; of in_categories alone

  bool operator==(const TreeInput&) const = default;
};

/// An inner node of a tree. A document goes left if its input is at most the threshold, or is missing and
/// `missing_left` is set; else right.
struct TreeNode {
  float threshold = 0;      ///< the greatest float32 for which the maker's own comparison goes left
  std::uint32_t input = 0;  ///< place in TreeEnsemble::inputs
  /// A child: c >= 0 is the tree's inner node c, which comes after its parent; c < 0 is the tree's leaf -c - 1.
  std::int32_t left = -1, right = -1;
  bool missing_left = false;

  bool operator==(const TreeNode&) const = default;
};

/// How the values of the leaves that a document reaches become a score.
enum class TreeSum : std::uint8_t {
  float64,  ///< in double, tree by tree (LightGBM)
  float32,  ///< in double tree by tree, rounded to float32 after each tree (XGBoost, RankLib)
};

/// Regression trees, one after another in flat arrays. Tree t has the nodes [first_node[t], first_node[t + 1]),
/// numbered from 0 within it, and the leaves [first_leaf[t], first_leaf[t + 1]); it has one leaf more than nodes. Its
/// root is its node 0; a tree without nodes is its one leaf. Leaves are in the order from left to right.
struct TreeEnsemble {
  std::vector<TreeInput> inputs;
  std::vector<TreeNode> nodes;
  std::vector<double> leaves;
  std::vector<std::uint64_t> first_node = {0}, first_leaf = {0};  ///< one more than trees
  TreeSum sum = TreeSum::float64;
  double base = 0;  ///< what the sum starts with
  /// Groups of consecutive trees that are summed up by themselves, from `base` on; the score is the mean of their sums,
  /// which are added up and divided in double (RankLib's bags). Each number is the tree after a group's last; the last
  /// one is the number of trees. Empty: all trees are one sum.
  std::vector<std::uint64_t> group_ends;

  std::uint64_t trees() const { return first_node.size() - 1; }
  bool operator==(const TreeEnsemble&) const = default;
};

/// intercept + Σ weight · feature, in double, in the order of the terms (RankLib's linear models). A missing value
/// counts as 0.
struct LinearModel {
  struct Term {
    std::uint32_t feature = 0;  ///< place in RankerModel::features
    double weight = 0;
    bool operator==(const Term&) const = default;
  };
  double intercept = 0;  ///< what the sum starts with
  std::vector<Term> terms;
  bool operator==(const LinearModel&) const = default;
};

/// A network's input that is made of one feature's value x (Tadros 2015, section 3.3), in float32.
enum class TransformationKind : std::uint8_t {
  linear,      ///< x · p1 + p2
  log_linear,  ///< ln(x + 1) · p1 + p2; x below the float32 after -1 counts as that number
  bucket,      ///< 1 if p1 <= x < p2, else 0
  free_form,   ///< a function by name, of the registry of lib/rank/models, with the parameters p1 and p2
};

struct Transformation {
  TransformationKind kind = TransformationKind::linear;
  std::uint32_t feature = 0;  ///< place in RankerModel::features
  float p1 = 1, p2 = 0;
  std::string function;  ///< of free_form alone
  bool operator==(const Transformation&) const = default;
};

enum class Activation : std::uint8_t { none, relu, sigmoid, tanh };

/// out[j] = activation(bias[j] + Σ_i in[i] · weights[j · inputs + i]), in float32, i rising, without contraction.
struct DenseLayer {
  std::uint32_t inputs = 0, outputs = 0;
  std::vector<float> weights;  ///< outputs × inputs, row by row
  std::vector<float> bias;     ///< outputs
  Activation activation = Activation::none;
  bool operator==(const DenseLayer&) const = default;
};

/// Inputs of a network, and outputs of a layer, at most: evaluation keeps the values of 128 documents of each, 32 MiB.
inline constexpr std::uint64_t max_layer_size = 1 << 16;

/// Transformed features and trees, each of which is an input, and layers over them; the last layer has one output.
struct NetworkModel {
  std::vector<Transformation> transformations;  ///< inputs 0 to transformations.size() - 1
  TreeEnsemble trees;                           ///< tree t's leaf, as float32, is input transformations.size() + t
  std::vector<DenseLayer> layers;
  bool operator==(const NetworkModel&) const = default;
};

/// What a model calls a feature.
struct ModelFeature {
  static constexpr std::uint32_t no_number = std::numeric_limits<std::uint32_t>::max();

  std::string name;                  ///< as the model's file has it; may be empty
  std::uint32_t number = no_number;  ///< its number in files of features (LETOR), if the model has it

  bool operator==(const ModelFeature&) const = default;
};

struct RankerModel {
  std::string format;                  ///< name of the format that it was read from
  std::vector<ModelFeature> features;  ///< those that the function reads, in the order of the maker's numbers
  /// Columns of the data that it was trained with, as its file says; 0 if it does not say. Files of features (LETOR)
  /// have a column 0 besides, which nothing is in; arrays begin with it.
  std::uint64_t columns = 0;
  std::variant<TreeEnsemble, LinearModel, NetworkModel> function;
};

/// As descriptions and figures call them.
inline constexpr NamedValue<TransformationKind> transformation_names[] = {
    {"linear", TransformationKind::linear, "x · p1 + p2"},
    {"log-linear", TransformationKind::log_linear, "ln(x + 1) · p1 + p2"},
    {"bucket", TransformationKind::bucket, "1 if p1 <= x < p2, else 0"},
    {"free-form", TransformationKind::free_form, "a function by name"},
};
inline constexpr NamedValue<Activation> activation_names[] = {
    {"none", Activation::none, "the sum itself"},
    {"relu", Activation::relu, "0 for what is below 0"},
    {"sigmoid", Activation::sigmoid, "1 / (1 + exp(-x))"},
    {"tanh", Activation::tanh, "the hyperbolic tangent"},
};

/// Throws CorruptFile, with tree and node or layer, unless a model keeps what ranker_model.hpp promises: numbers in
/// range, children after their parents, each node and leaf in one place of its tree, leaves from left to right,
/// thresholds that are numbers, finite values, layers that fit each other. `name` is what messages call it.
void check_model(const RankerModel& model, const std::string& name);

}  // namespace quern
