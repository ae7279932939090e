#include "quern/core/weighting_model.hpp"

#include <fmt/format.h>

#include "quern/core/named.hpp"
#include "quern/core/natural_log.hpp"

namespace quern {
namespace {

constexpr double log2_e = 1.4426950408889634, two_pi = 6.283185307179586, log2_two_pi = 2.651496129472319;

double documents_of(const CollectionStatistics& statistics) { return static_cast<double>(statistics.documents); }
double tokens_of(const CollectionStatistics& statistics) { return static_cast<double>(statistics.tokens); }

/// Language model with Dirichlet prior: C. Zhai, J. Lafferty: A Study of Smoothing Methods for Language Models Applied
/// to Information Retrieval, TOIS 22 (2004). Documents that lack a term contribute nothing, as in Lucene's
/// LMDirichletSimilarity.
struct Dirichlet {
  static constexpr ModelParameter parameters[] = {{"mu", 1000, 0.001, 1e9}};
  double mu, tokens_per_occurrence;

  explicit Dirichlet(const ModelTerm& term) : mu(term.values[0]), tokens_per_occurrence(term.tokens / term.cf) {}
  double operator()(double f, double length) const {
    return natural_log((f * tokens_per_occurrence + mu) / (length + mu));
  }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return natural_log(1.0 + tokens_of(statistics) / values[0]);
  }
};

/// Language model with Jelinek-Mercer smoothing, from the same paper; lambda is the weight of the collection's model.
struct JelinekMercer {
  static constexpr ModelParameter parameters[] = {{"lambda", 0.1, 1e-6, 0.999999}};
  double factor;

  explicit JelinekMercer(const ModelTerm& term) : factor(odds(term.values) * (term.tokens / term.cf)) {}
  double operator()(double f, double length) const { return natural_log(1.0 + factor * f / length); }
  static double odds(const ModelValues& values) { return (1.0 - values[0]) / values[0]; }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return natural_log(1.0 + odds(values) * tokens_of(statistics));
  }
};

/// Above the greatest value of 0.5 · binary_log(2πx) / (x + 1), which is 0.66407…, at x = 1.09.
constexpr double stirling_bound = 0.665;

/// Poisson model with Laplace's law of succession and normalization 2: G. Amati, C. J. van Rijsbergen: Probabilistic
/// Models of Information Retrieval Based on Measuring the Divergence from Randomness, TOIS 20 (2002); the formula of
/// Terrier's PL2.
struct Pl2 {
  static constexpr ModelParameter parameters[] = {{"c", 1, 0.001, 1e6}};
  double c_average, mean, log_mean;

  explicit Pl2(const ModelTerm& term)
      : c_average(term.values[0] * term.average), mean(term.cf / term.documents), log_mean(binary_log(mean)) {}
  double operator()(double f, double length) const {
    const double n = f * binary_log(1.0 + c_average / length);
    const double log_n = binary_log(n);
    return (n * (log_n - log_mean - log2_e) + mean * log2_e + 0.5 * (log_n + log2_two_pi)) / (n + 1.0);
  }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return binary_log(documents_of(statistics) * binary_log(1.0 + values[0] * statistics.average_length())) +
           stirling_bound;
  }
};

/// Hypergeometric model with Popper's normalization, without parameters: G. Amati: Frequentist and Bayesian Approach to
/// Information Retrieval, ECIR 2006; the formula of Terrier's DPH.
struct Dph {
  static constexpr std::span<const ModelParameter> parameters = {};
  double average, documents_per_occurrence;

  explicit Dph(const ModelTerm& term) : average(term.average), documents_per_occurrence(term.documents / term.cf) {}
  double operator()(double f, double length) const {
    const double rest = 1.0 - (f < length ? f / length : 0.99999);
    return rest * rest / (f + 1.0) *
           (f * binary_log(f * average / length * documents_per_occurrence) + 0.5 * binary_log(two_pi * f * rest));
  }
  static double bound(const ModelValues& /*values*/, const CollectionStatistics& statistics) {
    return binary_log(tokens_of(statistics)) + stirling_bound;
  }
};

constexpr ModelParameter bm25_parameters[] = {{"k1", 1.2, 0.001, 1000}, {"b", 0.75, 0, 1}};

/// f / (f + K), which Robertson's tf and BM25 share.
struct SaturatedFrequency {
  double k1, rest, share;

  explicit SaturatedFrequency(const ModelTerm& term)
      : k1(term.values[0]), rest(1.0 - term.values[1]), share(term.values[1] / term.average) {}
  double operator()(double f, double length) const { return f / (f + k1 * (rest + share * length)); }
};

/// Robertson's tf times the idf of Sparck Jones: Terrier's TF_IDF.
struct RobertsonTfIdf {
  static constexpr std::span<const ModelParameter> parameters = bm25_parameters;
  SaturatedFrequency saturated;
  double weight;

  explicit RobertsonTfIdf(const ModelTerm& term)
      : saturated(term), weight(term.values[0] * binary_log(term.documents / term.df + 1.0)) {}
  double operator()(double f, double length) const { return saturated(f, length) * weight; }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return values[0] * binary_log(documents_of(statistics) + 1.0);
  }
};

/// BM25 with the IDF of Lucene, as bm25.hpp has it, in double.
struct StoredBm25 {
  static constexpr std::span<const ModelParameter> parameters = bm25_parameters;
  SaturatedFrequency saturated;
  double weight;

  explicit StoredBm25(const ModelTerm& term)
      : saturated(term), weight((term.values[0] + 1.0) * idf(term.documents, term.df)) {}
  double operator()(double f, double length) const { return saturated(f, length) * weight; }
  static double idf(double documents, double df) { return natural_log(1.0 + (documents - df + 0.5) / (df + 0.5)); }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return (values[0] + 1.0) * idf(documents_of(statistics), 1.0);
  }
};

/// BM25F, in its simple form for several fields: S. Robertson, H. Zaragoza, M. Taylor: Simple BM25 Extension to
/// Multiple Weighted Fields, CIKM 2004, with a b for each field as in H. Zaragoza et al.: Microsoft Cambridge at
/// TREC-13, 2004.
struct Bm25F {
  static constexpr ModelParameter parameters[] = {{"title", 2, 0, 1000},
                                                  {"title_b", 0.5, 0, 1},
                                                  {"body", 1, 0.001, 1000},
                                                  {"body_b", 0.75, 0, 1},
                                                  {"k1", 1.2, 0.001, 1000}};
  double k1, weight;

  explicit Bm25F(const ModelTerm& term)
      : k1(term.values[4]), weight((k1 + 1.0) * StoredBm25::idf(term.documents, term.df)) {}
  double operator()(double sum, double /*length*/) const { return sum / (sum + k1) * weight; }
  static double bound(const ModelValues& values, const CollectionStatistics& statistics) {
    return (values[4] + 1.0) * StoredBm25::idf(documents_of(statistics), 1.0);
  }
  static FieldFactors factors(const ModelValues& values, const CollectionStatistics& statistics, double title_length,
                              double body_length) {
    const auto titles = static_cast<double>(statistics.title_tokens.value_or(0));
    const double documents = documents_of(statistics), bodies = tokens_of(statistics) - titles;
    return {factor(values[0], values[1], title_length, titles / documents),
            factor(values[2], values[3], body_length, bodies / documents)};
  }
  /// An empty field counts nothing, and then the average may be 0.
  static double factor(double weight, double b, double length, double average) {
    return length > 0 ? weight / (1.0 - b + b / average * length) : 0;
  }
};

template <class Formula>
void weigh(const ModelTerm& term, std::span<const double> freqs, std::span<const double> lengths, double* weights) {
  const Formula weight(term);
  for (std::size_t i = 0; i < freqs.size(); ++i) weights[i] = weight(freqs[i], lengths[i]);
}

template <class Formula>
WeightingModel model(std::string_view name, std::string_view description) {
  WeightingModel made{name, description, Formula::parameters, Formula::bound, weigh<Formula>, nullptr};
  if constexpr (requires { Formula::factors; }) made.factors = Formula::factors;
  return made;
}

std::string name_in_messages(const Weighting& weighting) {
  return fmt::format("the weighting model {}", weighting.model->name);
}

}  // namespace

std::span<const WeightingModel> all_weighting_models() {
  static const WeightingModel models[] = {
      model<Dirichlet>("qld", "query likelihood with Dirichlet prior (mu 1000)"),
      model<JelinekMercer>("qljm", "query likelihood with Jelinek-Mercer smoothing (lambda 0.1)"),
      model<Pl2>("pl2", "divergence from randomness: Poisson, Laplace, normalization 2 (c 1)"),
      model<Dph>("dph", "divergence from randomness: hypergeometric, without parameters"),
      model<RobertsonTfIdf>("tfidf", "Robertson's tf times idf (k1 1.2, b 0.75)"),
      model<StoredBm25>("bm25", "BM25 (k1 1.2, b 0.75)"),
      model<Bm25F>("bm25f", "BM25F over title and body (title 2, title_b 0.5, body 1, body_b 0.75, k1 1.2)"),
  };
  return models;
}

Weighting weighting_named(std::string_view name) {
  Weighting weighting;
  weighting.model = &find_named(all_weighting_models(), name, "weighting model");
  read_parameters(name, name_in_messages(weighting), weighting.model->parameters, weighting.values);
  return weighting;
}

void set_parameter(Weighting& weighting, std::string_view name, double value) {
  set_parameter(name, value, name_in_messages(weighting), weighting.model->parameters, weighting.values);
}

Weighting read_weighting(std::string_view text) {
  Weighting weighting = weighting_named(model_name(text));
  read_parameters(text, name_in_messages(weighting), weighting.model->parameters, weighting.values);
  return weighting;
}

std::string weighting_text(const Weighting& weighting) {
  return model_text(weighting.model->name, weighting.model->parameters, weighting.values);
}

FactorsOf factors_of(const Weighting& weighting, const CollectionStatistics& statistics) {
  if (weighting.model->factors == nullptr) return {};
  return [=](std::uint64_t title_length, std::uint64_t body_length) {
    return weighting.model->factors(weighting.values, statistics, static_cast<double>(title_length),
                                    static_cast<double>(body_length));
  };
}

ImpactSettings impacts_of_weighting(const Weighting& weighting, const CollectionStatistics& statistics, unsigned bits) {
  // Of collections with less than a few tokens, the bound may be 0.
  constexpr double least_bound = 0.001;
  ImpactSettings settings{bits};
  const double bound = weighting.model->bound(weighting.values, statistics);
  settings.scale = static_cast<double>(settings.max_weight()) / (bound > least_bound ? bound : least_bound);
  return settings;
}

}  // namespace quern
