#include "quern/rank/reranker.hpp"

#include <cmath>
#include <unordered_map>
#include <variant>

#include "quern/rank/features/feature_list.hpp"

namespace quern {

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
  for (Transformation& transformation : network.transformations) {
    visit(transformation.feature);
    for (ExpressionStep& step : transformation.expression)
      if (step.code == ExpressionCode::feature) visit(step.feature);
  }
  for_each_read(network.trees, visit);
}

/// Lets all models read the columns of their features together, and returns these.
std::vector<std::uint32_t> join_selections(std::span<Reranker::NamedModel> models) {
  std::vector<std::uint32_t> selection;
  std::vector<ModelFeature> features;
  for (auto& [bound, name] : models) {
    std::vector<std::uint32_t> columns;
    for (std::size_t i = 0; i < bound.selection.size(); ++i) {
      const auto known = std::ranges::find(selection, bound.selection[i]);
      columns.push_back(static_cast<std::uint32_t>(known - selection.begin()));
      if (known != selection.end()) continue;
      selection.push_back(bound.selection[i]);
      features.push_back(bound.model.features[i]);
    }
    std::visit([&](auto& function) { for_each_read(function, [&](std::uint32_t& read) { read = columns.at(read); }); },
               bound.model.function);
  }
  for (auto& [bound, name] : models) bound.model.features = features;
  return selection;
}

std::vector<Reranker::NamedModel> one_model(BoundModel model, std::string name) {
  std::vector<Reranker::NamedModel> models;
  models.push_back({std::move(model), std::move(name)});
  return models;
}

}  // namespace

Reranker::Reranker(std::vector<FeatureShard> shards, BoundModel model, std::string name, const FeatureMemory& memory)
    : Reranker(std::move(shards), one_model(std::move(model), std::move(name)), memory) {}

Reranker::Reranker(std::vector<FeatureShard> shards, std::vector<NamedModel> models, const FeatureMemory& memory)
    : extractor_(std::move(shards), join_selections(models), memory) {
  for (auto& [bound, name] : models) {
    std::unique_ptr<Ranker> ranker = make_ranker(bound.model);
    models_.push_back({std::move(bound.model), std::move(ranker), std::move(name)});
  }
}

void Reranker::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k, Space& space,
                      std::uint32_t model) const {
  score(extractor_.queries_of(query, space.analyzer), documents, space, model);
  keep_best(documents, k);
}

void Reranker::score(std::span<const FeatureQuery> queries, std::span<ScoredDocument> documents, Space& space,
                     std::uint32_t model) const {
  for (std::size_t from = 0; from < documents.size(); from += documents_at_once) {
    const std::size_t count = std::min(documents_at_once, documents.size() - from);
    space.candidates.clear();
    for (std::size_t i = 0; i < count; ++i)
      space.candidates.push_back({documents[from + i].docid, documents[from + i].score});
    space.matrix.resize(extractor_.num_features(), count);
    space.scores.resize(count);
    extractor_.extract(queries, space.candidates, 0, space.matrix, space.features);
    models_[model].ranker->score(space.matrix.columns(), space.scores);
    for (std::size_t i = 0; i < count; ++i) set_score(documents[from + i], space.scores[i], model);
  }
}

void Reranker::set_score(ScoredDocument& document, double score, std::uint32_t model) const {
  if (std::isnan(score))
    throw InvalidArgument("{}: the model gives docID {} a score that is not a number", models_[model].name,
                          document.docid);
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

/// Numbers of Quern's features by name.
std::unordered_map<std::string_view, std::uint32_t> features_by_name() {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < all_features().size(); ++i) numbers.emplace(all_features()[i].name, i);
  return numbers;
}

class Binding {
 public:
  Binding(const RankerModel& model, std::span<const std::uint32_t> list, const std::string& name,
          std::optional<std::uint32_t> features_from)
      : model_(model), list_(list), name_(name), first_(features_from), columns_(model.features.size(), not_used) {}

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
    const std::uint32_t first = first_number();
    if (feature.number < first || feature.number - first >= list_.size())
      throw InvalidArgument(
          "{}: the model reads feature {}, but the list of features has {}, numbered from {}; use {} to name the "
          "features that it was trained with, and {} if they are numbered from {}",
          name_, feature.number, list_.size(), first, option_name<"features">, option_name<"features-from">, 1 - first);
    return list_[feature.number - first];
  }

  /// What the model's features are numbered from.
  std::uint32_t first_number() const {
    const std::uint64_t size = list_.size();
    if (model_.columns != 0 && model_.columns - size > 1)
      throw InvalidArgument(
          "{}: the model was trained with {} columns, but the list of features has {}; use {} to name the features "
          "that "
          "it was trained with, or train it with Quern's column names",
          name_, model_.columns, size, option_name<"features">);
    std::optional<std::uint32_t> number = model_.first_number;
    if (model_.columns != 0) number = model_.columns == size ? 0 : 1;
    if (number && first_ && number != first_)
      throw InvalidArgument("{}: the model's features are numbered from {}, which {} {} contradicts; leave it out",
                            name_, *number, option_name<"features-from">, *first_);
    if (!number) number = first_;
    return number ? *number : number_from_features();
  }

  /// Dumps have neither a number of columns nor a rule. The last feature shows that they count from 1.
  std::uint32_t number_from_features() const {
    std::uint32_t least = not_used, greatest = 0;
    for (const ModelFeature& feature : model_.features) {
      if (feature.number == not_used || by_name_.contains(feature.name)) continue;
      least = std::min(least, feature.number);
      greatest = std::max(greatest, feature.number);
    }
    if (least == 0)
      throw InvalidArgument(
          "{}: the model reads feature 0, so it was trained on an array, whose features are numbered from 0; use {} 0",
          name_, option_name<"features-from">);
    if (greatest == list_.size()) return 1;
    throw InvalidArgument(
        "{}: the model does not say whether its features are numbered from 0, as in an array, or from 1, as in a file; "
        "use {} 0 or 1",
        name_, option_name<"features-from">);
  }

  const RankerModel& model_;
  std::span<const std::uint32_t> list_;
  const std::string& name_;
  const std::optional<std::uint32_t> first_;  ///< what the caller says features are numbered from
  std::vector<std::uint32_t> columns_;        ///< by feature of the model
  std::unordered_map<std::string_view, std::uint32_t> by_name_ = features_by_name();
};

}  // namespace

BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name,
                         std::optional<std::uint32_t> features_from) {
  Binding binding(model, list, name, features_from);
  std::visit(
      [&](auto& function) {
        for_each_read(function, [&](std::uint32_t& feature) { feature = binding.column_of(feature); });
      },
      model.function);
  model.features = std::move(binding.used_);
  return {std::move(model), std::move(binding.selection_)};
}

}  // namespace quern
