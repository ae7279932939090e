#pragma once
#include <bit>
#include <limits>
#include <optional>
#include <variant>

#include "quern/core/named.hpp"

/// Learned models that score a document by its features, in one form for all training programs.
///
/// A model reads an array of float32 feature values, one per entry of RankerModel::features. NaN means missing. A name
/// is a *feature* throughout; an *input* is what a tree or network reads, computed from one feature.
namespace quern {

/// How a feature's value x becomes a tree's input.
enum class TreeInputKind : std::uint8_t {
  value,          ///< x
  zero_missing,   ///< missing if x is NaN or |x| <= 1e-35f, else x (LightGBM's missing type Zero)
  nan_is_zero,    ///< 0 if x is NaN, else x (LightGBM's missing type None)
  in_categories,  ///< missing if x is NaN; 0 if x, cut to an integer, is one of the categories, else 1
  in_values,      ///< missing if x is NaN; 0 if value_key(x) is one of the categories, else 1
};

/// A value's key among the categories of in_values: equal values, such as 0 and -0, have equal keys.
constexpr std::uint32_t value_key(float x) { return x == 0 ? 0 : std::bit_cast<std::uint32_t>(x); }

struct TreeInput {
  std::uint32_t feature = 0;  ///< index in RankerModel::features
  TreeInputKind kind = TreeInputKind::value;
  std::vector<std::uint32_t> categories;  ///< ascending; only for in_categories and in_values

  bool operator==(const TreeInput&) const = default;
};

/// An inner node of a tree. A document goes left if its input is at most the threshold, or missing with `missing_left`
/// set; otherwise right.
struct TreeNode {
  float threshold = 0;      ///< the greatest float32 that goes left in the training program
  std::uint32_t input = 0;  ///< index in TreeEnsemble::inputs
  /// A child: c >= 0 is the tree's inner node c, which comes after its parent; c < 0 is the tree's leaf -c - 1.
  std::int32_t left = -1, right = -1;
  bool missing_left = false;

  bool operator==(const TreeNode&) const = default;
};

/// How the values of the reached leaves are added up.
enum class TreeSum : std::uint8_t {
  float64,  ///< in double, tree by tree (LightGBM)
  float32,  ///< in double tree by tree, rounded to float32 after each tree (XGBoost, RankLib)
};

/// Regression trees in flat arrays. Tree t has the nodes [first_node[t], first_node[t + 1]), numbered from 0 within it,
/// and the leaves [first_leaf[t], first_leaf[t + 1]), from left to right; it has one leaf more than nodes. Its root is
/// node 0; a tree without nodes is a single leaf.
struct TreeEnsemble {
  std::vector<TreeInput> inputs;
  std::vector<TreeNode> nodes;
  std::vector<double> leaves;
  std::vector<std::uint64_t> first_node = {0}, first_leaf = {0};  ///< one more than trees
  TreeSum sum = TreeSum::float64;
  double base = 0;  ///< the start of the sum
  /// Groups of consecutive trees with separate sums, each from `base`; the score is the mean of the sums, in double
  /// (RankLib's bags). Each number is the end of a group; the last is the number of trees. Empty: all trees form one
  /// sum.
  std::vector<std::uint64_t> group_ends;

  std::uint64_t trees() const { return first_node.size() - 1; }
  bool operator==(const TreeEnsemble&) const = default;
};

/// intercept + Σ weight · feature, in double, in the order of the terms (RankLib's linear models). A missing value
/// counts as 0.
struct LinearModel {
  struct Term {
    std::uint32_t feature = 0;  ///< index in RankerModel::features
    double weight = 0;
    bool operator==(const Term&) const = default;
  };
  double intercept = 0;  ///< the start of the sum
  std::vector<Term> terms;
  bool operator==(const LinearModel&) const = default;
};

/// What a step of an expression does with the last values of a stack: operations replace their operands.
enum class ExpressionCode : std::uint8_t {
  number,
  feature,
  negate,
  absolute,
  root,
  log,
  exponential,
  sigmoid,
  tanh,
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
};

struct ExpressionStep {
  ExpressionCode code = ExpressionCode::number;
  std::uint32_t feature = 0;  ///< index in RankerModel::features
  float number = 0;
  bool operator==(const ExpressionStep&) const = default;
};

/// Functions in expressions, by name.
inline constexpr NamedValue<ExpressionCode> expression_functions[] = {
    {"abs", ExpressionCode::absolute, "|x|"},
    {"sqrt", ExpressionCode::root, "√x; NaN for negative x"},
    {"log", ExpressionCode::log, "ln x; NaN for negative x, -inf for 0"},
    {"exp", ExpressionCode::exponential, "e^x"},
    {"sigmoid", ExpressionCode::sigmoid, "1 / (1 + e^-x)"},
    {"tanh", ExpressionCode::tanh, "the hyperbolic tangent"},
    {"min", ExpressionCode::minimum, "y if y < x, else x"},
    {"max", ExpressionCode::maximum, "y if y > x, else x"},
};

/// The number of values that a step takes from the stack.
constexpr unsigned operands_of(ExpressionCode code) {
  return code <= ExpressionCode::feature ? 0 : code < ExpressionCode::add ? 1 : 2;
}

inline constexpr unsigned max_expression_steps = 1000, max_expression_values = 16;

/// Whether the steps leave one value, with valid codes, within the limits of steps and of values on the stack.
bool is_valid(std::span<const ExpressionStep> expression);

/// A network's input, computed from a feature's value x (Tadros 2015, section 3.3), in float32.
enum class TransformationKind : std::uint8_t {
  linear,      ///< x · p1 + p2
  log_linear,  ///< ln(x + 1) · p1 + p2; x is clamped to at least the float32 after -1
  bucket,      ///< 1 if p1 <= x < p2, else 0
  free_form,   ///< an expression of several features
};

struct Transformation {
  TransformationKind kind = TransformationKind::linear;
  std::uint32_t feature = 0;  ///< index in RankerModel::features
  float p1 = 1, p2 = 0;
  std::vector<ExpressionStep> expression = {};  ///< only for free_form; `feature` is among its features
  bool operator==(const Transformation&) const = default;
};

enum class Activation : std::uint8_t { none, relu, sigmoid, tanh };

/// out[j] = activation(bias[j] + Σ_i in[i] · weights[j · inputs + i]), in float32, i ascending, without contraction.
struct DenseLayer {
  std::uint32_t inputs = 0, outputs = 0;
  std::vector<float> weights;  ///< outputs × inputs, row by row
  std::vector<float> bias;     ///< outputs
  Activation activation = Activation::none;
  bool operator==(const DenseLayer&) const = default;
};

/// Limit of a network's inputs and a layer's outputs: evaluation keeps the values of 128 documents of each, 32 MiB.
inline constexpr std::uint64_t max_layer_size = 1 << 16;

/// Inputs, each a transformed feature or a tree, and layers over them; the last layer has one output.
struct NetworkModel {
  std::vector<Transformation> transformations;  ///< inputs 0 to transformations.size() - 1
  TreeEnsemble trees;                           ///< tree t's leaf, as float32, is input transformations.size() + t
  std::vector<DenseLayer> layers;
  bool operator==(const NetworkModel&) const = default;
};

/// A feature's name in a model.
struct ModelFeature {
  static constexpr std::uint32_t no_number = std::numeric_limits<std::uint32_t>::max();

  std::string name;                  ///< as in the model's file; may be empty
  std::uint32_t number = no_number;  ///< its number in feature files (LETOR), if the model names it

  bool operator==(const ModelFeature&) const = default;
};

struct RankerModel {
  std::string format;  ///< name of the file's format
  std::vector<ModelFeature>
      features;  ///< features that the model reads, in the order of the training program's numbers
  /// Columns of the training data, from the file; 0 if unknown. Feature files (LETOR) have an additional, empty column
  /// 0; arrays begin with column 0.
  std::uint64_t columns = 0;
  std::variant<TreeEnsemble, LinearModel, NetworkModel> function;
  /// What features are numbered from: 1 as in feature files, or 0 as in arrays. None: `columns` says it, or nothing
  /// does.
  std::optional<std::uint32_t> first_number = {};
};

/// Names in descriptions and figures.
inline constexpr NamedValue<TransformationKind> transformation_names[] = {
    {"linear", TransformationKind::linear, "x · p1 + p2"},
    {"log-linear", TransformationKind::log_linear, "ln(x + 1) · p1 + p2"},
    {"bucket", TransformationKind::bucket, "1 if p1 <= x < p2, else 0"},
    {"free-form", TransformationKind::free_form, "an expression of features"},
};
inline constexpr NamedValue<Activation> activation_names[] = {
    {"none", Activation::none, "the sum itself"},
    {"relu", Activation::relu, "0 for values below 0"},
    {"sigmoid", Activation::sigmoid, "1 / (1 + exp(-x))"},
    {"tanh", Activation::tanh, "the hyperbolic tangent"},
};

/// Throws CorruptFile, with tree and node or layer, unless a model is valid: numbers in range, children after their
/// parents, each node and leaf used once in its tree, leaves from left to right, thresholds that are numbers, finite
/// values, and layers that fit each other. `name` is the file's name in messages.
void check_model(const RankerModel& model, const std::string& name);

/// Feature values of several documents, stored by feature: the input of models. NaN marks a missing value.
struct FeatureColumns {
  /// Documents that models process at once. `stride` is a multiple of it, and the padding up to `stride` may be read.
  static constexpr std::size_t documents_per_group = 32;

  const float* values = nullptr;  ///< features × stride
  std::size_t documents = 0;
  std::size_t stride = 0;  ///< values from one feature's column to the next; at least `documents`

  /// The values of one feature, by document.
  constexpr const float* column(std::uint32_t feature) const { return values + feature * stride; }
};

}  // namespace quern
