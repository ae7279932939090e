#pragma once
#include <utility>
#include <vector>

#include "index/pipeline/model_index.hpp"
#include "index/pipeline/pipeline.hpp"

namespace quern::testing {

/// An ordered collection of documents, with the reference model of its index.
struct ModelledCorpus {
  ModelledCorpus(const Pipeline& pipeline, std::vector<ModelDocument> corpus, OrderBy by = OrderBy::natural,
                 std::uint64_t seed = 1)
      : documents(std::move(corpus)),
        collection(pipeline.parse(as_jsonl(documents))),
        order(pipeline.order(collection, by, seed)),
        model(documents, order.documents) {}
  ModelledCorpus(const ModelledCorpus&) = delete;  ///< the model points to the documents

  std::vector<ModelDocument> documents;
  CollectionReader collection;
  DocumentOrder order;
  ModelIndex model;
};

}  // namespace quern::testing
