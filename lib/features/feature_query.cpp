#include "quern/features/feature_query.hpp"

#include <algorithm>

#include "quern/core/natural_log.hpp"

namespace quern {
namespace {

FeatureTerm feature_term(const CollectionStatistics& statistics, std::uint64_t df, std::uint64_t cf) {
  constexpr FeatureParameters parameters;
  FeatureTerm term;
  const double documents = static_cast<double>(statistics.documents), holders = static_cast<double>(df);
  term.idf = natural_log(1.0 + (documents - holders + 0.5) / (holders + 0.5));
  const double tokens = std::max(static_cast<double>(statistics.tokens), 1.0);
  term.collection_share = std::max(static_cast<double>(cf), 0.5) / tokens;
  term.log_dirichlet_absent = natural_log(parameters.mu * term.collection_share);
  term.log_jelinek_absent = natural_log(parameters.lambda * term.collection_share);
  return term;
}

}  // namespace

FeatureQuery make_feature_query(const IndexReader& index, Analyzer& analyzer, std::string_view text) {
  FeatureQuery query;
  for (std::string& term : analyzer.terms(text)) {
    if (query.sequence.size() == max_feature_terms) break;
    const auto known = std::find(query.texts.begin(), query.texts.end(), term);
    const auto place = static_cast<std::uint32_t>(known - query.texts.begin());
    query.sequence.push_back(place);
    if (known == query.texts.end()) {
      const auto list = index.find(term);
      query.numbers.push_back(list ? std::optional<term_t>(list->number) : std::nullopt);
      query.terms.push_back(feature_term(index.manifest().statistics, list ? list->df : 0, list ? list->cf : 0));
      query.texts.push_back(std::move(term));
    }
    query.terms[place].count += 1;
  }
  return query;
}

}  // namespace quern
