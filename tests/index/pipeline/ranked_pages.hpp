#pragma once
#include "quern/core/random.hpp"
#include "quern/order/order.hpp"
#include "quern/search/query_engine.hpp"

#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"

/// Collections whose documents have a PageRank, for indexes in any order.
namespace quern::testing {

/// PageRanks in [0, 1] of documents in corpus order: many ties, some 0 and 1.
inline std::vector<float> draw_pagerank(std::size_t documents, std::uint64_t seed) {
  RandomBits random(seed);
  std::vector<float> ranks;
  for (std::size_t i = 0; i < documents; ++i) {
    const std::uint64_t kind = random.below(4);
    ranks.push_back(kind == 0   ? 0.0f
                    : kind == 1 ? static_cast<float>(random.below(5)) / 4
                                : static_cast<float>(random.below(1 << 20)) / (1 << 20));
  }
  return ranks;
}

class RankedPages {
 public:
  RankedPages(std::uint64_t seed, const CorpusShape& shape)
      : documents(with_twins(seed, shape)),
        collection(pipeline.parse(as_jsonl(documents))),
        pagerank(draw_pagerank(documents.size(), seed)) {}

  DocumentOrder order(OrderBy by, double alpha, const Bm25Parameters& bm25 = {}) const {
    OrderOptions options;
    options.scores.alpha = alpha;
    options.scores.bm25 = bm25;
    DocumentOrder order = order_method(by).compute({collection, options, pagerank, pipeline.resources});
    for (const docid_t document : order.documents) order.pagerank.push_back(pagerank[document]);
    return order;
  }

  IndexReader index(const DocumentOrder& order, double alpha, const BuildOptions& build,
                    const Bm25Parameters& bm25 = {}) {
    OrderOptions options;
    options.scores.alpha = alpha;
    options.scores.bm25 = bm25;
    StageFile file = pipeline.new_file();
    build_index(collection, order, options, build, pipeline.resources, *file);
    return Pipeline::open_index(file);
  }

  Pipeline pipeline;
  std::vector<ModelDocument> documents;
  CollectionReader collection;
  std::vector<float> pagerank;

 private:
  static std::vector<ModelDocument> with_twins(std::uint64_t seed, const CorpusShape& shape) {
    auto documents = random_corpus(seed, shape);
    for (std::size_t i = 0, size = documents.size(); i < size; i += 2) {
      documents.push_back(documents[i]);
      documents.back().docno += "-twin";
    }
    return documents;
  }
};

inline ScoringOptions with_pagerank(double alpha, bool early = true) {
  ScoringOptions options;
  options.scorer = Scorer::bm25_pagerank;
  options.alpha = alpha;
  options.early_termination = early;
  return options;
}

inline BuildOptions blocks_of(unsigned size) {
  BuildOptions options;
  options.codec_options.block_size = size;
  return options;
}

}  // namespace quern::testing
