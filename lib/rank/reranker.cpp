#include "quern/rank/reranker.hpp"

#include <cmath>
#include <unordered_map>
#include <variant>

#include "quern/rank/features/feature_list.hpp"

namespace quern {

Reranker::Reranker(std::vector<FeatureShard> shards, BoundModel model, std::string name, const FeatureMemory& memory)
    : extractor_(std::move(shards), model.selection, memory),
      model_(std::move(model.model)),
      ranker_(make_ranker(model_)),
      name_(std::move(name)) {}

void Reranker::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k,
                      Space& space) const {
  score(extractor_.queries_of(query, space.analyzer), documents, space);
  keep_best(documents, k);
}

void Reranker::score(std::span<const FeatureQuery> queries, std::span<ScoredDocument> documents, Space& space) const {
  for (std::size_t from = 0; from < documents.size(); from += documents_at_once) {
    const std::size_t count = std::min(documents_at_once, documents.size() - from);
    space.candidates.clear();
    for (std::size_t i = 0; i < count; ++i)
      space.candidates.push_back({documents[from + i].docid, documents[from + i].score});
    space.matrix.resize(extractor_.num_features(), count);
    space.scores.resize(count);
    extractor_.extract(queries, space.candidates, 0, space.matrix, space.features);
    ranker_->score(space.matrix.columns(), space.scores);
    for (std::size_t i = 0; i < count; ++i) set_score(documents[from + i], space.scores[i]);
  }
}

void Reranker::set_score(ScoredDocument& document, double score) const {
  if (std::isnan(score))
    throw InvalidArgument("{}: the model gives docID {} a score that is not a number", name_, document.docid);
  document.score = static_cast<float>(score);
}

void Reranker::keep_best(std::vector<ScoredDocument>& documents, std::size_t k) {
  const auto is_better = [](const ScoredDocument& a, const ScoredDocument& b) {
    return a.score != b.score ? a.score > b.score : a.docid < b.docid;
  };
  if (k < documents.size()) {
    std::nth_element(documents.begin(), documents.begin() + static_cast<std::ptrdiff_t>(k), documents.end(), is_better);
    documents.resize(k);
  }
  std::sort(documents.begin(), documents.end(), is_better);
}

namespace {

/// Calls visit(feature), by reference, for each place in the function that reads a feature.
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

/// Numbers of Quern's features by name.
std::unordered_map<std::string_view, std::uint32_t> features_by_name() {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < all_features().size(); ++i) numbers.emplace(all_features()[i].name, i);
  return numbers;
}

class Binding {
 public:
  Binding(const RankerModel& model, std::span<const std::uint32_t> list, const std::string& name)
      : model_(model), list_(list), name_(name), columns_(model.features.size(), not_used) {}

  /// The column of a feature of the model.
  std::uint32_t column_of(std::uint32_t feature) {
    if (feature >= columns_.size())
      throw InvalidArgument(name_ + ": reads a feature that is not in its list of features");
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
          "{}: the model reads a feature '{}', which Quern does not have; {} lists the available ones", name_,
          feature.name, option_name<"features list">);
    check_columns();
    const std::uint64_t number = std::uint64_t{feature.number} + (model_.columns == list_.size() ? 1 : 0);
    if (number == 0 || number > list_.size())
      throw InvalidArgument(
          "{}: the model reads feature {}, but the list of features has {}, numbered from 1; use {} to "
          "name the features that it was trained with",
          name_, feature.number, list_.size(), option_name<"features">);
    return list_[number - 1];
  }

  /// Throws if the model was not trained with exactly the list's features, alone or after a column 0.
  void check_columns() const {
    if (model_.columns == 0 || model_.columns == list_.size() || model_.columns == list_.size() + 1) return;
    throw InvalidArgument(
        "{}: the model was trained with {} columns, but the list of features has {}; use {} to name the "
        "features that it was trained with, or train it with Quern's column names",
        name_, model_.columns, list_.size(), option_name<"features">);
  }

  const RankerModel& model_;
  std::span<const std::uint32_t> list_;
  const std::string& name_;
  std::vector<std::uint32_t> columns_;  ///< by feature of the model
  std::unordered_map<std::string_view, std::uint32_t> by_name_ = features_by_name();
};

}  // namespace

BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name) {
  Binding binding(model, list, name);
  std::visit(
      [&](auto& function) {
        for_each_read(function, [&](std::uint32_t& feature) { feature = binding.column_of(feature); });
      },
      model.function);
  model.features = std::move(binding.used_);
  return {std::move(model), std::move(binding.selection_)};
}

}  // namespace quern
