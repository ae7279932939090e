#include "quern/formats/rankers/lightgbm_model.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quern {
namespace {

TreeInputKind input_kind(LightgbmMissing missing) {
  if (missing == LightgbmMissing::zero) return TreeInputKind::zero_missing;
  return missing == LightgbmMissing::nan ? TreeInputKind::value : TreeInputKind::nan_is_zero;
}

/// Whether LightGBM sends a value to the left; NaN is missing.
bool sends_left(const LightgbmSplit& split, double value) {
  if (split.is_categorical)
    return value >= 0 && std::binary_search(split.categories.begin(), split.categories.end(), value);
  if (std::isnan(value) && split.missing != LightgbmMissing::nan) value = 0;
  const bool is_zero = split.missing == LightgbmMissing::zero && std::abs(value) <= 1e-35f;
  return is_zero || std::isnan(value) ? split.default_left : value <= split.threshold;
}

constexpr std::size_t no_list = std::numeric_limits<std::size_t>::max(), unclear_list = no_list - 1;

/// Finds which columns of the training data can have the categories of a data frame. The file has only the order of the
/// lists; the rest must follow from the columns' values in training, which are codes of categories.
class DataFrameColumns {
 public:
  /// `all_categorical`: each categorical column has a list, as if the data frame alone said which ones are categorical.
  DataFrameColumns(const LightgbmHead& head, bool all_categorical)
      : head_(head), columns_(head.features), lists_(head.data_frame.size()) {
    find_categorical();
    needs_list_ = all_categorical ? is_categorical_ : std::vector<bool>(columns_);
    begins_.assign(at(columns_ + 1, 0), false);
    ends_ = begins_;
    begins_[0] = ends_.back() = true;
    for (std::uint64_t column = 0; column < columns_; ++column)
      for (std::size_t list = 0; list <= lists_; ++list)
        begins_[at(column + 1, list)] = (!needs_list_[column] && begins_[at(column, list)]) ||
                                        (list > 0 && begins_[at(column, list - 1)] && fits(column, list - 1));
    for (std::uint64_t column = columns_; column-- > 0;)
      for (std::size_t list = 0; list <= lists_; ++list)
        ends_[at(column, list)] = (!needs_list_[column] && ends_[at(column + 1, list)]) ||
                                  (list < lists_ && ends_[at(column + 1, list + 1)] && fits(column, list));
  }

  /// Limit of columns times lists.
  static constexpr std::uint64_t max_places = 1 << 26;

  /// The lists that a column can have, among them no_list.
  std::vector<std::size_t> choices(std::uint64_t column) const {
    std::vector<std::size_t> found;
    bool can_lack_list = false;
    for (std::size_t list = 0; list <= lists_; ++list) {
      if (!begins_[at(column, list)]) continue;
      if (list < lists_ && fits(column, list) && ends_[at(column + 1, list + 1)]) found.push_back(list);
      can_lack_list |= !needs_list_[column] && ends_[at(column + 1, list)];
    }
    if (can_lack_list) found.push_back(no_list);
    return found;
  }

 private:
  void find_categorical() {
    is_categorical_.resize(columns_);
    if (!head_.categorical_columns)
      for (std::uint64_t column = 0; column < columns_; ++column)
        is_categorical_[column] = head_.columns[column].is_categorical;
    for (const std::uint64_t column : head_.categorical_columns.value_or(std::vector<std::uint64_t>()))
      if (column < columns_) is_categorical_[column] = true;
  }

  /// Whether a column's values can be codes of a list: some, if it is categorical; otherwise, if the categories have an
  /// order, all.
  bool fits(std::uint64_t column, std::size_t list) const {
    const LightgbmColumn& values = head_.columns[column];
    const auto end = static_cast<double>(head_.data_frame[list].values.size());
    const bool is_constant = values.least > values.greatest;
    if (is_categorical_[column]) return is_constant || (values.least >= -1 && values.greatest < end);
    if (is_constant) return end <= 1 || !head_.categorical_columns;
    return values.least == 0 && values.greatest == end - 1;
  }

  std::size_t at(std::uint64_t column, std::size_t list) const { return column * (lists_ + 1) + list; }

  const LightgbmHead& head_;
  const std::uint64_t columns_;
  const std::size_t lists_;
  std::vector<bool> is_categorical_, needs_list_;  ///< by column
  /// By column c and list l: whether the columns before c can have exactly the lists before l, and whether the columns
  /// from c on can have exactly those from l on.
  std::vector<bool> begins_, ends_;
};

/// Whether a column's values are its codes, so that it doesn't matter whether it has the list.
bool is_same(const ColumnCategories& column) {
  for (std::size_t code = 0; code < column.values.size(); ++code)
    if (column.values[code] != static_cast<float>(code)) return false;
  return true;
}

/// The list of each column, no_list, or unclear_list if the file allows several of these or none.
std::vector<std::size_t> lists_of_columns(const LightgbmHead& head) {
  const DataFrameColumns usual(head, true), any(head, false);
  std::vector<std::size_t> lists(head.features, unclear_list);
  for (std::uint64_t column = 0; column < head.features; ++column) {
    std::vector<std::size_t> choices = usual.choices(column);
    const bool is_usual = choices.size() == 1;
    const std::vector<std::size_t> others = any.choices(column);
    if (choices.empty()) choices = others;
    if (choices.size() != 1) continue;
    const auto keeps_codes = [&](std::size_t list) { return list == no_list || is_same(head.data_frame[list]); };
    const bool is_clear = std::all_of(others.begin(), others.end(), [&](std::size_t other) {
      return other == choices[0] || (is_usual && keeps_codes(other) && keeps_codes(choices[0]));
    });
    if (is_clear) lists[column] = choices[0];
  }
  return lists;
}

}  // namespace

void check_lightgbm_head(const LightgbmHead& head, const std::string& name) {
  if (head.version != "v2" && head.version != "v3" && head.version != "v4")
    throw UnsupportedVersion(
        "{}: is a LightGBM model of version '{:.20}', but Quern reads v2, v3 and v4; save it with LightGBM 2.1 to 4",
        name, head.version);
  if (head.classes > 1 || head.trees_per_iteration != 1)
    throw InvalidArgument(
        "{}: is a LightGBM model of several classes ('{:.40}'), which don't give a single score; train a ranker, a "
        "regression or a binary classifier",
        name, head.objective);
  if (!head.has_features) throw CorruptFile(name + ": is a LightGBM model without max_feature_idx");
  if (!head.names.empty() && head.names.size() != head.features)
    throw CorruptFile("{}: has {} feature_names for {} features", name, head.names.size(), head.features);
}

std::size_t LightgbmTrees::list_of(std::uint64_t column) {
  if (head_.data_frame.empty() || column >= head_.features) return no_list;
  if (lists_.empty()) {
    lists_.assign(1, unclear_list);
    if (head_.columns.size() != head_.features ||
        head_.features > DataFrameColumns::max_places / (head_.data_frame.size() + 1))
      return unclear_list;
    lists_ = lists_of_columns(head_);
  }
  return lists_[lists_.size() == 1 ? 0 : column];
}

void LightgbmTrees::set_split(LooseTree::Node& node, std::uint32_t feature, LightgbmSplit split) {
  if (std::isnan(split.threshold)) fail("a threshold is not a number");
  if (const std::size_t list = list_of(split.feature); list != no_list) {
    static const ColumnCategories unclear = {
        {},
        "the file does not say which of its pandas_categorical are the column's; train with columns of integers that "
        "categorical_feature names, instead of the dtype category"};
    const ColumnCategories& column = list == unclear_list ? unclear : head_.data_frame[list];
    std::sort(split.categories.begin(), split.categories.end());
    std::vector<bool> left(column.values.size());
    if (column.obstacle.empty() && !split.categories.empty() && split.categories.back() >= left.size())
      fail(fmt::format("a split has the category {}, but pandas_categorical has only {} for its column",
                       split.categories.back(), left.size()));
    for (std::size_t code = 0; code < left.size(); ++code) left[code] = sends_left(split, static_cast<double>(code));
    return split_by_values(node, feature, column, left, sends_left(split, std::numeric_limits<double>::quiet_NaN()));
  }
  node.threshold = split.is_categorical ? 0 : greatest_float_up_to(split.threshold);
  // Only categories go left; all other values go right, including missing ones.
  node.missing_left = !split.is_categorical && split.missing != LightgbmMissing::none && split.default_left;
  node.input = split.is_categorical ? categories_input(feature, std::move(split.categories))
                                    : input(feature, input_kind(split.missing));
}

RankerModel LightgbmTrees::finish(const LightgbmHead& head, std::string_view format) {
  TreeEnsemble& ensemble = trees();
  ensemble.sum = TreeSum::float64;
  if (head.averages)
    for (std::uint64_t tree = 1; tree <= ensemble.trees(); ++tree) ensemble.group_ends.push_back(tree);
  return TreeCollector::finish(format, head.features);
}

}  // namespace quern
