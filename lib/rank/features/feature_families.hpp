#pragma once
#include <cstddef>
#include <tuple>
#include <utility>

#include "quern/rank/features/count_families.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/position_families.hpp"
#include "quern/rank/features/score_families.hpp"
#include "quern/rank/features/static_families.hpp"

/// The one table of features. A family publishes some values, which it describes in its `features`: publish() gets a
/// stream or a document and fills as many numbers, in double and in one order of operations, without anything but the
/// arrays that it is given, so that it runs on every device with the same bits. Families of documents name the `group`
/// that stands in front of their features' names.
///
/// New families go to the end of their list: models name features by their place.
namespace quern {

/// Of each stream.
using StreamFamilies = std::tuple<StreamSize, MatchedTerms, TermFrequencies, RelativeFrequencies, TfIdf, Places,
                                  LeastSpan, OrderedPairs, PhraseMatch, StreamBm25, LanguageModels>;

/// Of the whole document.
using DocumentFamilies = std::tuple<Bm25f, DocumentMatches, PageNumbers, QueryNumbers, FirstStage>;

/// Values that a family publishes, at most.
inline constexpr std::size_t max_family_values = 8;

/// Where a family stands.
struct FamilyPlace {
  std::size_t family = 0;         ///< its number among those of streams, or behind them among those of documents
  std::size_t stream = 0;         ///< num_document_streams: a family of documents
  std::size_t first_feature = 0;  ///< the number in all_features() of the first feature that it publishes there
};

/// The number of families.
inline constexpr std::size_t num_stream_families = std::tuple_size_v<StreamFamilies>,
                             num_families = num_stream_families + std::tuple_size_v<DocumentFamilies>;

/// Publishes what a family says of a document; `stream` counts for families of streams alone.
template <class Family>
constexpr void publish_family(const DocumentView& document, std::size_t stream, double* values) {
  if constexpr (requires { Family::publish(document, values); }) {
    Family::publish(document, values);
  } else {
    Family::publish(document.streams[stream], values);
  }
}

template <class Visit, std::size_t... of_stream, std::size_t... of_document>
constexpr void for_each_family(Visit&& visit, std::index_sequence<of_stream...>, std::index_sequence<of_document...>) {
  FamilyPlace place;
  const auto next = [&](auto family, std::size_t number) {
    place.family = number;
    visit(family, place);
    place.first_feature += std::size(decltype(family)::features);
  };
  for (; place.stream < num_document_streams; ++place.stream)
    (next(std::tuple_element_t<of_stream, StreamFamilies>(), of_stream), ...);
  (next(std::tuple_element_t<of_document, DocumentFamilies>(), num_stream_families + of_document), ...);
}

/// Calls visit(Family(), FamilyPlace) for all families of streams, of one stream after another, and then for those of
/// documents: the order of all_features().
template <class Visit>
constexpr void for_each_family(Visit&& visit) {
  for_each_family(std::forward<Visit>(visit), std::make_index_sequence<num_stream_families>(),
                  std::make_index_sequence<num_families - num_stream_families>());
}

}  // namespace quern
