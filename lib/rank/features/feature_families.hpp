#pragma once
#include <tuple>

#include "quern/rank/features/count_families.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/position_families.hpp"
#include "quern/rank/features/score_families.hpp"

/// The table of all features. A family describes its values in `features`; publish() computes them from a stream or a
/// document, in double and in one order of operations. It uses only the arrays passed to it, so that it gives the same
/// bits on every device. Families of documents name the `group` that prefixes their features' names.
///
/// Append new families to their list: models refer to features by number.
namespace quern {

/// Of each stream.
using StreamFamilies = std::tuple<StreamSize, MatchedTerms, TermFrequencies, RelativeFrequencies, TfIdf, Places,
                                  LeastSpan, OrderedPairs, PhraseMatch, StreamBm25, LanguageModels>;

/// Of the whole document.
using DocumentFamilies = std::tuple<Bm25f, DocumentMatches, PageNumbers, QueryNumbers, FirstStage>;

/// Maximum number of values of a family.
inline constexpr std::size_t max_family_values = 8;

/// The place of a family in all_features().
struct FamilyPlace {
  std::size_t family = 0;         ///< its number: families of streams, then those of documents
  std::size_t stream = 0;         ///< num_document_streams for a family of documents
  std::size_t first_feature = 0;  ///< number of its first feature there in all_features()
};

/// The number of families.
inline constexpr std::size_t num_stream_families = std::tuple_size_v<StreamFamilies>,
                             num_families = num_stream_families + std::tuple_size_v<DocumentFamilies>;

/// Publishes a family's values for a document; families of documents ignore `stream`.
template <class Family>
constexpr void publish_family(const DocumentView& document, std::size_t stream, double* values) {
  if constexpr (requires { Family::publish(document, values); })
    Family::publish(document, values);
  else
    Family::publish(document.streams[stream], values);
}

template <class Visit, std::size_t... streams, std::size_t... documents>
constexpr void for_each_family(Visit&& visit, std::index_sequence<streams...>, std::index_sequence<documents...>) {
  FamilyPlace place;
  const auto next = [&](auto family, std::size_t number) {
    place.family = number;
    visit(family, place);
    place.first_feature += std::size(decltype(family)::features);
  };
  for (; place.stream < num_document_streams; ++place.stream)
    (next(std::tuple_element_t<streams, StreamFamilies>(), streams), ...);
  (next(std::tuple_element_t<documents, DocumentFamilies>(), num_stream_families + documents), ...);
}

/// Calls visit(Family(), FamilyPlace) for all families of streams, stream by stream, and then for those of documents:
/// the order of all_features().
template <class Visit>
constexpr void for_each_family(Visit&& visit) {
  for_each_family(std::forward<Visit>(visit), std::make_index_sequence<num_stream_families>(),
                  std::make_index_sequence<num_families - num_stream_families>());
}

}  // namespace quern
