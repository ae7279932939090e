#pragma once
#include <vector>

#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/random_corpus.hpp"
#include "sanitized.hpp"

/// Random corpora with everything needed to build an index.
namespace quern::testing {

struct OwnPipeline {
  Pipeline pipeline;
};

/// A modelled corpus and the pipeline that indexed it.
struct IndexedCorpus : OwnPipeline, ModelledCorpus {
  IndexedCorpus(std::uint64_t seed, const CorpusShape& shape) : ModelledCorpus(pipeline, random_corpus(seed, shape)) {}

  IndexReader index(const BuildOptions& options) {
    return Pipeline::open_index(pipeline.build(collection, order, options));
  }
  /// The first terms of the model, at most `count`.
  std::vector<std::string> terms(std::size_t count) const {
    std::vector<std::string> terms;
    for (const auto& list : model.lists())
      if (terms.size() < count) terms.push_back(list.first);
    return terms;
  }
};

/// The codecs for tests that take minutes under sanitizers: one there, all elsewhere.
inline std::vector<const Codec*> codecs_of_slow_tests() {
  if (sanitized) return {all_codecs().front()};
  return all_codecs();
}

/// Options for an index of this codec; with quantized impacts unless `quantize_bits` is 0.
inline BuildOptions coded(const Codec& codec, const CodecOptions& codec_options, unsigned quantize_bits = 0) {
  BuildOptions options;
  options.codec = codec.name;
  options.codec_options = codec_options;
  options.quantize_bits = quantize_bits;
  return options;
}

inline ScoringOptions with_scores(Scores scores) {
  ScoringOptions scoring;
  scoring.scores = scores;
  return scoring;
}

/// Calls check(engine) for an index with these options: exact scores and, if it has quantized impacts, quantized ones.
template <class Check>
void check_coding(IndexedCorpus& corpus, const BuildOptions& options, const Check& check) {
  INFO(coding_text(options) << ", " << options.quantize_bits << " bits");
  const IndexReader index = corpus.index(options);
  check(QueryEngine(index, {}));
  if (options.quantize_bits > 0) check(QueryEngine(index, with_scores(Scores::quantized)));
}

}  // namespace quern::testing
