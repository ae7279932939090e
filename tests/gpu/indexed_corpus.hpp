#pragma once
#include "pipeline/model_index.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/random_corpus.hpp"

/// Random corpora with everything that an index is built of.
namespace quern::testing {

struct IndexedCorpus {
  IndexedCorpus(std::uint64_t seed, const CorpusShape& shape)
      : documents(random_corpus(seed, shape)),
        collection(pipeline.parse(as_jsonl(documents))),
        order(pipeline.order(collection)),
        model(documents, order.documents) {}

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

  Pipeline pipeline;
  std::vector<ModelDocument> documents;
  CollectionReader collection;
  DocumentOrder order;
  ModelIndex model;
};

/// Options for an index of this codec; with quantized impacts unless `quantize_bits` is 0.
inline BuildOptions coded(const Codec& codec, const CodecOptions& codec_options, unsigned quantize_bits = 0) {
  BuildOptions options;
  options.codec = codec.name();
  options.codec_options = codec_options;
  options.quantize_bits = quantize_bits;
  return options;
}

}  // namespace quern::testing
