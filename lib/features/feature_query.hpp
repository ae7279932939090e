#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/features/families/query_view.hpp"
#include "quern/formats/index_file.hpp"
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

  FeatureQueryView view() const {
    return {terms.data(), static_cast<std::uint32_t>(terms.size()), sequence.data(),
            static_cast<std::uint32_t>(sequence.size())};
  }
};

/// Analyzes a query and looks its first max_feature_terms terms up.
FeatureQuery make_feature_query(const IndexReader& index, Analyzer& analyzer, std::string_view text);

}  // namespace quern
