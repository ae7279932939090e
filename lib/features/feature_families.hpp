#pragma once
#include <tuple>

#include "quern/features/families/bm25f.hpp"
#include "quern/features/families/document_matches.hpp"
#include "quern/features/families/first_stage.hpp"
#include "quern/features/families/language_models.hpp"
#include "quern/features/families/least_span.hpp"
#include "quern/features/families/matched_terms.hpp"
#include "quern/features/families/ordered_pairs.hpp"
#include "quern/features/families/page_numbers.hpp"
#include "quern/features/families/phrase_match.hpp"
#include "quern/features/families/places.hpp"
#include "quern/features/families/query_numbers.hpp"
#include "quern/features/families/relative_frequencies.hpp"
#include "quern/features/families/stream_bm25.hpp"
#include "quern/features/families/stream_size.hpp"
#include "quern/features/families/term_frequencies.hpp"
#include "quern/features/families/tf_idf.hpp"

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

}  // namespace quern
