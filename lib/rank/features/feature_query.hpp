#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_memory.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Terms of a query that count, each as often as it occurs: the first ones.
inline constexpr std::size_t max_feature_terms = 4096;

/// A query's terms, with what the index knows of them.
struct FeatureQuery {
  std::vector<std::string> texts;              ///< of the distinct terms
  std::vector<std::optional<term_t>> numbers;  ///< in the index; nothing where it has no list
  std::vector<FeatureTerm> terms;
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint32_t> first_follower, followers;  ///< as FeatureQueryView has them
  std::vector<std::uint32_t> listed;                     ///< places of the terms with a list, by their numbers
  std::vector<std::uint32_t> literals;                   ///< places of the others, by their bytes

  /// Fills the vectors from first_follower on, for queries that are put together by hand.
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

/// Analyzes a query and looks its first max_feature_terms terms up. Throws InvalidArgument if the memory is too small
/// for its text.
FeatureQuery make_feature_query(const IndexReader& index, Analyzer& analyzer, std::string_view text,
                                const FeatureMemory& memory = unlimited_feature_memory);
/// The same for all shards of an index, one for each: terms have the whole's counts in all of them.
std::vector<FeatureQuery> make_feature_queries(std::span<const IndexReader* const> shards, Analyzer& analyzer,
                                               std::string_view text, const FeatureMemory& memory);

}  // namespace quern
