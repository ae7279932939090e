#pragma once
#include <array>
#include <bit>
#include <functional>
#include <span>

#include "quern/core/bm25.hpp"
#include "quern/core/model_parameters.hpp"

/// Weighting models whose weights an index stores: a posting's weight as a function of counts in the text. A score is
/// the sum of its terms' weights. formats/scores.md defines each model and its order of double operations.
namespace quern {

/// The parameters' values, in the model's order.
using ModelValues = std::array<double, 5>;

/// A term's counts, as a model uses them.
struct ModelTerm {
  ModelValues values;
  double df, cf;                      ///< over all shards
  double documents, tokens, average;  ///< of the collection; the average length
};

/// What an occurrence of a term counts in each field of a document, for a model that weighs fields. The sum over the
/// fields takes the place of the frequency.
struct FieldFactors {
  double title = 0, body = 0;

  /// The sum as the bits of a float32, so that a posting has room for it.
  freq_t join(freq_t in_title, freq_t in_body) const {
    return std::bit_cast<freq_t>(static_cast<float>(in_title * title + in_body * body));
  }
  /// The sum that join() returned.
  static double joined(freq_t bits) { return std::bit_cast<float>(bits); }
};

/// An entry of the registry.
struct WeightingModel {
  std::string_view name, description;
  std::span<const ModelParameter> parameters;
  /// A number that no weight exceeds, except as formats/scores.md says of pl2.
  double (*bound)(const ModelValues& values, const CollectionStatistics& statistics);
  /// Sets the weights of postings with these frequencies, in documents of these lengths.
  void (*weigh)(const ModelTerm& term, std::span<const double> freqs, std::span<const double> lengths, double* weights);
  /// Of a model that weighs fields: the factors of a document with titles and bodies of these lengths, whose postings'
  /// sums weigh() then takes for frequencies. Needs the number of tokens in titles. Null for other models.
  FieldFactors (*factors)(const ModelValues& values, const CollectionStatistics& statistics, double title_length,
                          double body_length);
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

/// Returns the factors of a document whose title and body have these lengths.
using FactorsOf = std::function<FieldFactors(std::uint64_t title_length, std::uint64_t body_length)>;
/// Those of a model that weighs fields; empty for other models.
FactorsOf factors_of(const Weighting& weighting, const CollectionStatistics& statistics);

/// How weights become integers of `bits` bits: the scale is the same for all postings, and depends only on the model
/// and the collection's numbers.
ImpactSettings impacts_of_weighting(const Weighting& weighting, const CollectionStatistics& statistics, unsigned bits);

/// Bits of stored weights unless others are chosen.
inline constexpr unsigned usual_weight_bits = 16;

}  // namespace quern
