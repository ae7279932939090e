#pragma once
#include <map>
#include <string>
#include <vector>

#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

namespace quern::testing {

/// Addends of one list's postings to their documents' scores.
using TermScores = std::map<docid_t, float>;

/// One index for each block size, and a model of them.
class SmallBlocks {
 public:
  SmallBlocks()
      : documents_(random_corpus(89, {2600, 400, 14, false})),
        collection_(pipeline_.parse(as_jsonl(documents_))),
        order_(pipeline_.order(collection_)),
        model(documents_, order_.documents) {}

  template <class Visit>
  void for_each_index(Visit&& visit) {
    for (const unsigned block_size : {2u, 4u, 8u}) {
      BuildOptions options;
      options.codec_options.block_size = block_size;
      INFO(coding_text(options));
      const IndexReader index = Pipeline::open_index(pipeline_.build(collection_, order_, options));
      const QueryEngine engine(index, {});
      QueryStatistics statistics;
      ScoringContext context = engine.scoring_context();
      context.statistics = &statistics;
      visit(engine, context);
    }
  }

  /// The term's list in the index, and its addends to scores by the model.
  WeightedList list(const QueryEngine& engine, const std::string& term, TermScores& scores) const {
    bool all_found = false;
    const auto lists = engine.lists_of(query_of({term}), all_found);
    REQUIRE(all_found);
    const auto& postings = model.lists().at(term);
    const float weight = model.weight(postings.size(), 1);
    scores.clear();
    for (const ModelPosting& posting : postings) scores[posting.docid] = weight * model.term_score(posting);
    return lists.front();
  }

 private:
  Pipeline pipeline_;
  std::vector<ModelDocument> documents_;
  CollectionReader collection_;
  DocumentOrder order_;

 public:
  const ModelIndex model;
};

inline const std::vector<std::string> small_terms = {"everywhere", "often", "w0", "w1", "w7", "w30", "w300"};

}  // namespace quern::testing
