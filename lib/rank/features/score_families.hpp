#pragma once
#include "quern/core/natural_log.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_list.hpp"

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

}  // namespace quern
