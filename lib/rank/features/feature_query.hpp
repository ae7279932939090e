#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Maximum length of a query, repetitions included; further terms are ignored.
inline constexpr std::size_t max_feature_terms = 4096;

/// A query's terms, with their statistics in the index and their numbers in it or in one of its shards.
struct FeatureQuery {
  std::vector<std::string> texts;              ///< the distinct terms
  std::vector<std::optional<term_t>> numbers;  ///< in the index; empty for terms without a list
  std::vector<FeatureTerm> terms;
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint32_t> first_follower, followers;  ///< see FeatureQueryView
  std::vector<std::uint32_t> listed;                     ///< indices of terms with a list, sorted by number
  std::vector<std::uint32_t> literals;                   ///< indices of the other terms, sorted bytewise

  /// Fills the vectors from first_follower on, for queries built by hand.
  void prepare();

  FeatureQueryView view() const {
    return {terms.data(),
            static_cast<std::uint32_t>(terms.size()),
            sequence.data(),
            static_cast<std::uint32_t>(sequence.size()),
            first_follower.empty() ? nullptr : first_follower.data(),
            followers.data()};
  }

 private:
  void find_followers();
};

/// Analyzes a query and looks up its first max_feature_terms terms in each shard of an index, all with the counts of
/// the whole collection. Throws InvalidArgument if the memory is too small for its text.
std::vector<FeatureQuery> make_feature_queries(std::span<const IndexReader* const> shards, Analyzer& analyzer,
                                               std::string_view text,
                                               const FeatureMemory& memory = unlimited_feature_memory);

}  // namespace quern
