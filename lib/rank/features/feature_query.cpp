#include "quern/rank/features/feature_query.hpp"

#include <numeric>
#include <unordered_map>

#include "quern/core/natural_log.hpp"
#include "quern/text/utf8.hpp"

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

void FeatureQuery::prepare() {
  listed.clear();
  literals.clear();
  for (std::uint32_t place = 0; place < numbers.size(); ++place) (numbers[place] ? listed : literals).push_back(place);
  std::sort(listed.begin(), listed.end(),
            [this](std::uint32_t a, std::uint32_t b) { return *numbers[a] < *numbers[b]; });
  std::sort(literals.begin(), literals.end(), [this](std::uint32_t a, std::uint32_t b) { return texts[a] < texts[b]; });
  find_followers();
}

void FeatureQuery::find_followers() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 1; i < sequence.size(); ++i) pairs.emplace_back(sequence[i - 1], sequence[i]);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  first_follower.assign(terms.size() + 1, 0);
  followers.clear();
  for (const auto& [before, after] : pairs) {
    ++first_follower[before + 1];
    followers.push_back(after);
  }
  std::partial_sum(first_follower.begin(), first_follower.end(), first_follower.begin());
}

std::vector<FeatureQuery> make_feature_queries(std::span<const IndexReader* const> shards, Analyzer& analyzer,
                                               std::string_view text, const FeatureMemory& memory) {
  // For a copy of the text, in which three bytes may replace one.
  QueryMemory::Claim claim(memory.hits());
  claim.raise_to(text.size() * 4);
  FeatureQuery query;
  std::vector<std::vector<std::optional<term_t>>> numbers(shards.size());
  std::unordered_map<std::string, std::uint32_t> places;
  std::string repaired;
  repair_utf8(text, repaired);
  const auto add = [&](std::string_view term) {
    if (query.sequence.size() == max_feature_terms) return;
    const auto [known, is_new] = places.emplace(term, static_cast<std::uint32_t>(places.size()));
    query.sequence.push_back(known->second);
    if (is_new) {
      std::uint64_t df = 0, cf = 0;
      for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        const auto list = shards[shard]->find(term);
        numbers[shard].push_back(list ? std::optional<term_t>(list->number) : std::nullopt);
        if (list) df = list->whole_df, cf = list->whole_cf;
      }
      query.terms.push_back(feature_term(shards.front()->manifest().statistics, df, cf));
      query.texts.emplace_back(term);
    }
    query.terms[known->second].count += 1;
  };
  analyzer.analyze(repaired, add, [] {});
  std::vector<FeatureQuery> queries(shards.size(), query);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    queries[shard].numbers = std::move(numbers[shard]);
    queries[shard].prepare();
  }
  return queries;
}

}  // namespace quern
