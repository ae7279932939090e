#pragma once
#include <tuple>

#include "quern/core/natural_log.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_list.hpp"

/// The table of all features. A family describes its values in `features`; publish() computes them from a stream or a
/// document, in double and in one order of operations. It uses only the arrays passed to it, so that it gives the same
/// bits on every device. Families of documents name the `group` that prefixes their features' names.
///
/// Append new families to their list: models refer to features by number.
namespace quern {

/// BM25 of a single stream (Robertson, Walker 1994), with that stream's lengths.
struct StreamBm25 {
  static constexpr FeatureInfo features[] = {
      {"bm25", FeatureKind::dependent,
       "Σ n · idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · L / avg)), avg the stream's"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    const double saturation = stream.k1 * (1.0 - stream.b + stream.b * (stream.length / stream.average_length));
    double sum = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      if (stream.tf[i] == 0) continue;
      const FeatureTerm& term = stream.query.terms[i];
      const double tf = stream.tf[i];
      sum += term.count * term.idf * (tf * (stream.k1 + 1.0) / (tf + saturation));
    }
    values[0] = sum;
  }
};

/// BM25F: adds up the frequencies of all streams before saturation (Robertson, Zaragoza, Taylor: Simple BM25 Extension
/// to Multiple Weighted Fields, CIKM 2004).
struct Bm25f {
  struct StreamParameters {
    double weight, b;
  };
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"bm25f", FeatureKind::dependent, "Σ idf · t / (k1 + t), t = Σ over streams w · tf / (1 - b + b · L / avg)"},
      {"bm25f_share", FeatureKind::dependent, "bm25f / Σ idf; 0 if that is 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    // For title, body, url, anchor. Local, since kernels can't read static arrays.
    constexpr StreamParameters parameters[num_document_streams] = {{3.0, 0.5}, {1.0, 0.75}, {1.5, 0.5}, {2.0, 0.5}};
    double divisors[num_document_streams] = {};
    for (std::size_t s = 0; s < num_document_streams; ++s) {
      const StreamView& stream = document.streams[s];
      divisors[s] = 1.0 - parameters[s].b + parameters[s].b * (stream.length / stream.average_length);
    }
    const StreamView& any = document.streams[0];
    double sum = 0, greatest = 0;
    for (std::uint32_t i = 0; i < any.query.num_terms; ++i) {
      const double idf = any.query.terms[i].idf;
      double t = 0;
      for (std::size_t s = 0; s < num_document_streams; ++s)
        t += parameters[s].weight * document.streams[s].tf[i] / divisors[s];
      greatest += idf;
      if (t > 0) sum += idf * (t / (any.k1 + t));
    }
    values[0] = sum;
    values[1] = greatest == 0 ? 0.0 : sum / greatest;
  }
};

/// The logarithm of the probability of the query in a language model of the stream, with the collection's as background
/// (Zhai, Lafferty: A Study of Smoothing Methods for Language Models, SIGIR 2001).
struct LanguageModels {
  static constexpr FeatureInfo features[] = {
      {"lm_dirichlet", FeatureKind::dependent, "Σ n · ln(tf + mu · p) - length(q) · ln(L + mu), mu = 2000"},
      {"lm_jelinek_mercer", FeatureKind::dependent,
       "Σ n · ln((1 - lambda) · (tf / L) + lambda · p), lambda = 0.1; tf / L is 0 where tf is"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    constexpr FeatureParameters parameters;
    double dirichlet = 0, jelinek = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      const FeatureTerm& term = stream.query.terms[i];
      const double tf = stream.tf[i];
      if (stream.tf[i] == 0) {
        dirichlet += term.count * term.log_dirichlet_absent;
        jelinek += term.count * term.log_jelinek_absent;
      } else {
        dirichlet += term.count * natural_log(tf + parameters.mu * term.collection_share);
        jelinek += term.count * natural_log((1.0 - parameters.lambda) * (tf / stream.length) +
                                            parameters.lambda * term.collection_share);
      }
    }
    values[0] = dirichlet - stream.query.length * natural_log(stream.length + parameters.mu);
    values[1] = jelinek;
  }
};

/// Query-independent numbers of a page: its URL, links and PageRank.
struct PageNumbers {
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"pagerank", FeatureKind::fixed, "PageRank as stored in the index, in [0, 1]; 0 if it has none"},
      {"in_links", FeatureKind::fixed, "other documents of the collection that link to it"},
      {"out_links", FeatureKind::fixed, "other documents of the collection that it links to"},
      {"links", FeatureKind::fixed, "all its links, wherever they lead"},
      {"url_bytes", FeatureKind::fixed, "bytes of its URL; 0 if it has none"},
      {"url_depth", FeatureKind::fixed, "segments of its URL's path that are not empty"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    values[0] = document.pagerank;
    values[1] = document.in_links;
    values[2] = document.out_links;
    values[3] = document.links;
    values[4] = document.url_bytes;
    values[5] = document.url_depth;
  }
};

/// The document's first-stage score.
struct FirstStage {
  static constexpr std::string_view group = "first_stage";
  static constexpr FeatureInfo features[] = {
      {"score", FeatureKind::dependent, "the document's score in the run that is reordered"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    values[0] = document.first_stage_score;
  }
};

/// Numbers of a query, equal for all its documents.
struct QueryNumbers {
  static constexpr std::string_view group = "query";
  static constexpr FeatureInfo features[] = {
      {"terms", FeatureKind::query, "Q: distinct terms of the query"},
      {"length", FeatureKind::query, "length(q): terms of the query, each as often as it occurs"},
      {"idf_sum", FeatureKind::query, "Σ idf"},
      {"idf_min", FeatureKind::query, "min idf; 0 if Q = 0"},
      {"idf_max", FeatureKind::query, "max idf; 0 if Q = 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    const FeatureQueryView& query = document.streams[0].query;
    double sum = 0, least = 0, greatest = 0;
    for (std::uint32_t i = 0; i < query.num_terms; ++i) {
      const double idf = query.terms[i].idf;
      sum += idf;
      if (i == 0 || idf < least) least = idf;
      if (i == 0 || idf > greatest) greatest = idf;
    }
    values[0] = query.num_terms;
    values[1] = query.length;
    values[2] = sum;
    values[3] = least;
    values[4] = greatest;
  }
};

/// The positions of the first and the last hit in a stream.
struct Places {
  static constexpr FeatureInfo features[] = {
      {"first", FeatureKind::dynamic, "tokens before the first hit; L if there is none"},
      {"last", FeatureKind::dynamic, "tokens up to the last hit, that included; 0 if there is none"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.num_hits == 0 ? stream.length : stream.hits[0].offset;
    values[1] = stream.num_hits == 0 ? 0.0 : stream.hits[stream.num_hits - 1].offset + 1.0;
  }
};

/// How often terms that are adjacent in the query are adjacent in a stream.
struct OrderedPairs {
  static constexpr FeatureInfo features[] = {
      {"ordered_pairs", FeatureKind::dynamic,
       "pairs of neighbouring tokens of one phrase that are neighbours in the query, in that order"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t pairs = 0;
    for (std::uint32_t i = 1; i < stream.num_hits; ++i) {
      const WordHit &before = stream.hits[i - 1], &hit = stream.hits[i];
      if (hit.offset == before.offset + 1 && hit.phrase == before.phrase && follow(stream.query, before.word, hit.word))
        ++pairs;
    }
    values[0] = pairs;
  }

 private:
  static constexpr bool follow(const FeatureQueryView& query, std::uint32_t first, std::uint32_t second) {
    if (query.first_follower != nullptr) return is_follower(query, first, second);
    for (std::uint32_t i = 1; i < query.length; ++i)
      if (query.sequence[i - 1] == first && query.sequence[i] == second) return true;
    return false;
  }

  /// Binary search among the followers of a term.
  static constexpr bool is_follower(const FeatureQueryView& query, std::uint32_t first, std::uint32_t second) {
    std::uint32_t begin = query.first_follower[first], end = query.first_follower[first + 1];
    while (begin < end) {
      const std::uint32_t middle = begin + (end - begin) / 2;
      if (query.followers[middle] == second) return true;
      if (query.followers[middle] < second)
        begin = middle + 1;
      else
        end = middle;
    }
    return false;
  }
};

/// The shortest run of a stream that contains all matched terms.
struct LeastSpan {
  static constexpr FeatureInfo features[] = {
      {"span", FeatureKind::dynamic, "tokens of the shortest run that has all m matched terms; 0 if m = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t missing = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      stream.scratch[i] = 0;  // hits in the run
      missing += stream.tf[i] > 0;
    }
    std::uint32_t least = 0, begin = 0;
    for (std::uint32_t end = 0; end < stream.num_hits; ++end) {
      if (stream.scratch[stream.hits[end].word]++ == 0) --missing;
      for (; missing == 0; ++begin) {
        const std::uint32_t span = stream.hits[end].offset - stream.hits[begin].offset + 1;
        if (least == 0 || span < least) least = span;
        if (--stream.scratch[stream.hits[begin].word] == 0) ++missing;
      }
    }
    values[0] = least;
  }
};

/// The phrase of a stream with the most query terms.
struct PhraseMatch {
  static constexpr FeatureInfo features[] = {
      {"phrase_match", FeatureKind::dynamic,
       "maximum number of distinct terms of the query in one phrase, / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i)
      stream.scratch[i] = 0;  // the last phrase that contains the term, + 1
    std::uint32_t greatest = 0, distinct = 0;
    for (std::uint32_t i = 0; i < stream.num_hits; ++i) {
      const WordHit& hit = stream.hits[i];
      if (i > 0 && hit.phrase != stream.hits[i - 1].phrase) distinct = 0;
      if (stream.scratch[hit.word] != hit.phrase + 1) ++distinct;
      stream.scratch[hit.word] = hit.phrase + 1;
      if (distinct > greatest) greatest = distinct;
    }
    values[0] = stream.query.num_terms == 0 ? 0.0 : static_cast<double>(greatest) / stream.query.num_terms;
  }
};

/// Aggregates of a value x over the query's terms, in order: sum, minimum, maximum, mean, variance (the mean of (x -
/// mean)²). All are 0 without terms. term_value(i) returns x of term i.
template <class TermValue>
constexpr void publish_aggregates(std::uint32_t num_terms, TermValue&& term_value, double* values) {
  double sum = 0, least = 0, greatest = 0, mean = 0, variance = 0;
  for (std::uint32_t i = 0; i < num_terms; ++i) {
    const double x = term_value(i);
    sum += x;
    if (i == 0 || x < least) least = x;
    if (i == 0 || x > greatest) greatest = x;
  }
  if (num_terms > 0) {
    mean = sum / num_terms;
    for (std::uint32_t i = 0; i < num_terms; ++i) {
      const double difference = term_value(i) - mean;
      variance += difference * difference;
    }
    variance = variance / num_terms;
  }
  values[0] = sum;
  values[1] = least;
  values[2] = greatest;
  values[3] = mean;
  values[4] = variance;
}

/// Frequencies of the query's terms in a stream.
struct TermFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_sum", FeatureKind::dynamic, "Σ tf"},
      {"tf_min", FeatureKind::dynamic, "min tf"},
      {"tf_max", FeatureKind::dynamic, "max tf"},
      {"tf_mean", FeatureKind::dynamic, "mean tf"},
      {"tf_variance", FeatureKind::dynamic, "mean of (tf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return static_cast<double>(stream.tf[i]); }, values);
  }
};

/// Frequencies divided by the stream's length.
struct RelativeFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_by_length_sum", FeatureKind::dynamic, "Σ tf / L"},
      {"tf_by_length_min", FeatureKind::dynamic, "min tf / L"},
      {"tf_by_length_max", FeatureKind::dynamic, "max tf / L"},
      {"tf_by_length_mean", FeatureKind::dynamic, "mean tf / L"},
      {"tf_by_length_variance", FeatureKind::dynamic, "mean of (tf / L - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms,
        [&stream](std::uint32_t i) {
          return stream.length == 0 ? 0.0 : static_cast<double>(stream.tf[i]) / stream.length;
        },
        values);
  }
};

/// Frequencies weighted by the terms' rarity.
struct TfIdf {
  static constexpr FeatureInfo features[] = {
      {"tf_idf_sum", FeatureKind::dependent, "Σ tf · idf"},
      {"tf_idf_min", FeatureKind::dependent, "min tf · idf"},
      {"tf_idf_max", FeatureKind::dependent, "max tf · idf"},
      {"tf_idf_mean", FeatureKind::dependent, "mean tf · idf"},
      {"tf_idf_variance", FeatureKind::dependent, "mean of (tf · idf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return stream.tf[i] * stream.query.terms[i].idf; },
        values);
  }
};

/// The number of the query's terms in a stream.
struct MatchedTerms {
  static constexpr FeatureInfo features[] = {
      {"matched", FeatureKind::dynamic, "m: distinct terms of the query with tf > 0"},
      {"matched_share", FeatureKind::dynamic, "m / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t matched = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) matched += stream.tf[i] > 0;
    values[0] = matched;
    values[1] = stream.query.num_terms == 0 ? 0.0 : values[0] / stream.query.num_terms;
  }
};

/// The size of a stream.
struct StreamSize {
  static constexpr FeatureInfo features[] = {
      {"length", FeatureKind::fixed, "L: tokens of the stream"},
      {"phrases", FeatureKind::fixed, "runs of tokens between the ends of phrases"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.length;
    values[1] = stream.phrases;
  }
};

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
