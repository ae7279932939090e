#pragma once
#include <array>
#include <span>

#include "quern/core/bm25.hpp"
#include "quern/core/model_parameters.hpp"

/// Weighting models whose weights an index stores: a posting's weight as a function of counts in the text. A score is
/// the sum of its terms' weights. formats/scores.md defines each model and its order of double operations.
namespace quern {

/// The parameters' values, in the model's order.
using ModelValues = std::array<double, 2>;

/// A term's counts, as a model uses them.
struct ModelTerm {
  ModelValues values;
  double df, cf;                      ///< over all shards
  double documents, tokens, average;  ///< of the collection; the average length
};

/// An entry of the registry.
struct WeightingModel {
  std::string_view name, description;
  std::span<const ModelParameter> parameters;
  /// A number that no weight exceeds, except as formats/scores.md says of pl2.
  double (*bound)(const ModelValues& values, const CollectionStatistics& statistics);
  /// Sets the weights of postings with these frequencies, in documents of these lengths.
  void (*weigh)(const ModelTerm& term, std::span<const double> freqs, std::span<const double> lengths, double* weights);
};

std::span<const WeightingModel> all_weighting_models();

/// A model with values for its parameters.
struct Weighting {
  const WeightingModel* model = nullptr;
  ModelValues values = {};

  bool operator==(const Weighting&) const = default;
};

/// Reads a model's name, optionally followed by values: "qld", "qld:mu=1500", "tfidf:k1=0.9,b=0.4". Throws
/// InvalidArgument for unknown names and values out of range.
Weighting read_weighting(std::string_view text);
/// The text that read_weighting() reads, with all values.
std::string weighting_text(const Weighting& weighting);
/// The model called `name`, with its parameters' usual values. Throws InvalidArgument.
Weighting weighting_named(std::string_view name);
/// Sets a parameter. Throws InvalidArgument if the model lacks it or the value is out of range.
void set_parameter(Weighting& weighting, std::string_view name, double value);

/// How weights become integers of `bits` bits: the scale is the same for all postings, and depends only on the model
/// and the collection's numbers.
ImpactSettings impacts_of_weighting(const Weighting& weighting, const CollectionStatistics& statistics, unsigned bits);

/// Bits of stored weights unless others are chosen.
inline constexpr unsigned usual_weight_bits = 16;

}  // namespace quern
