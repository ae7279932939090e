#include "quern/rank/feature_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <variant>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/rank/features/feature_list.hpp"

namespace quern {
namespace {

/// Calls visit(feature) for each place of the function that reads a feature, by reference.
template <class Visit>
void for_each_read(TreeEnsemble& trees, Visit&& visit) {
  for (TreeInput& input : trees.inputs) visit(input.feature);
}
template <class Visit>
void for_each_read(LinearModel& linear, Visit&& visit) {
  for (LinearModel::Term& term : linear.terms) visit(term.feature);
}
template <class Visit>
void for_each_read(NetworkModel& network, Visit&& visit) {
  for (Transformation& transformation : network.transformations) visit(transformation.feature);
  for_each_read(network.trees, visit);
}

/// Quern's features by name.
std::unordered_map<std::string_view, std::uint32_t> features_by_name() {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < all_features().size(); ++i) numbers.emplace(all_features()[i].name, i);
  return numbers;
}

class Binding {
 public:
  Binding(const RankerModel& model, std::span<const std::uint32_t> list, const std::string& name)
      : model_(model), list_(list), name_(name), columns_(model.features.size(), not_used) {}

  /// The column that a feature of the model becomes.
  std::uint32_t column_of(std::uint32_t feature) {
    if (feature >= columns_.size()) throw InvalidArgument(name_ + ": reads a feature that it does not name");
    std::uint32_t& column = columns_[feature];
    if (column == not_used) {
      const std::uint32_t number = number_of(model_.features[feature]);
      const auto known = std::find(selection_.begin(), selection_.end(), number);
      column = static_cast<std::uint32_t>(known - selection_.begin());
      if (known == selection_.end()) {
        selection_.push_back(number);
        used_.push_back(model_.features[feature]);
      }
    }
    return column;
  }

  std::vector<std::uint32_t> selection_;
  std::vector<ModelFeature> used_;

 private:
  static constexpr std::uint32_t not_used = ModelFeature::no_number;

  std::uint32_t number_of(const ModelFeature& feature) const {
    if (const auto named = by_name_.find(feature.name); named != by_name_.end()) return named->second;
    if (feature.number == ModelFeature::no_number)
      throw InvalidArgument(
          fmt::format("{}: the model reads a feature '{}', which Quern does not have; quern features "
                      "--list prints those that it has",
                      name_, feature.name));
    check_columns();
    const std::uint64_t number = std::uint64_t{feature.number} + (model_.columns == list_.size() ? 1 : 0);
    if (number == 0 || number > list_.size())
      throw InvalidArgument(
          fmt::format("{}: the model reads feature {}, but the list of features has {}, numbered from 1; name those "
                      "that it was trained "
                      "with by --features",
                      name_, feature.number, list_.size()));
    return list_[number - 1];
  }

  /// Throws unless the model was trained with the list's features, alone or after a column 0.
  void check_columns() const {
    if (model_.columns == 0 || model_.columns == list_.size() || model_.columns == list_.size() + 1) return;
    throw InvalidArgument(
        fmt::format("{}: the model was trained with {} columns, but the list of features has {}; name those that it "
                    "was trained with "
                    "by --features, or give the columns Quern's names when it is trained",
                    name_, model_.columns, list_.size()));
  }

  const RankerModel& model_;
  std::span<const std::uint32_t> list_;
  const std::string& name_;
  std::vector<std::uint32_t> columns_;  ///< of each feature of the model
  std::unordered_map<std::string_view, std::uint32_t> by_name_ = features_by_name();
};

}  // namespace

BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name) try {
  Binding binding(model, list, name);
  std::visit(
      [&](auto& function) {
        for_each_read(function, [&](std::uint32_t& feature) { feature = binding.column_of(feature); });
      },
      model.function);
  model.features = std::move(binding.used_);
  return {std::move(model), std::move(binding.selection_)};
} catch (...) {
  throw_own_error();
}

}  // namespace quern
