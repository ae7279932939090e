#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "quern/plan/cache_plan.hpp"

#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// An index and a log for tests of cache plans, and the log's use of lists computed straightforwardly.
namespace quern::testing {

inline constexpr double alpha = 0.4;
/// The smallest block size with which lists in the lexicon, of at most 16 postings, are one block.
inline constexpr unsigned tiny = 16;

/// An index in the order of global scores with tiny blocks, and a plain scorer of the same documents.
class CachedPages {
 public:
  explicit CachedPages(unsigned block_size)
      : pages(83, {900, 40, 30, false}),
        order(pages.order(OrderBy::score, alpha)),
        model(pages.documents, order.documents),
        index(pages.index(order, alpha, blocks_of(block_size))),
        engine(index, with_pagerank(alpha)) {
    scoring.alpha = alpha;
    scoring.pagerank = order.pagerank;
    RandomBits random(5);
    const auto distinct = draw_queries(29, model, 60);
    for (std::size_t i = 0; i < 200; ++i) log.push_back(distinct[random.below(random.below(distinct.size()) + 1)]);
  }

  RankedPages pages;
  DocumentOrder order;
  ModelIndex model;
  ModelScoring scoring;
  IndexReader index;
  QueryEngine engine;
  std::vector<std::vector<std::string>> log;
};

/// A query as in Wang et al.: reads candidates from the shortest list in rounds and skips none.
struct PlainQuery {
  std::vector<std::string> terms;  ///< distinct, in the order of summation
  std::vector<docid_t> ends;       ///< one past the last document in all lists up to this one; 0: none
  bool known = true;
};

inline PlainQuery run_plainly(const CachedPages& pages, std::vector<std::string> terms, std::size_t k,
                              std::size_t round) {
  PlainQuery query;
  std::map<docid_t, float> scores;
  for (const ScoredDocument& found : pages.model.search(terms, true, pages.model.documents().size(), pages.scoring))
    scores[found.docid] = found.score;
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  for (const std::string& term : terms) query.known = query.known && pages.model.lists().count(term) > 0;
  query.known = query.known && !terms.empty();
  if (!query.known) return query;
  std::stable_sort(terms.begin(), terms.end(), [&](const std::string& a, const std::string& b) {
    return pages.model.lists().at(a).size() < pages.model.lists().at(b).size();
  });
  query.terms = terms;
  query.ends.resize(terms.size());
  std::vector<std::set<docid_t>> lists;
  for (const std::string& term : terms) {
    auto& list = lists.emplace_back();
    for (const ModelPosting& posting : pages.model.lists().at(term)) list.insert(posting.docid);
  }
  std::multiset<float, std::greater<>> best;
  std::size_t read = 0;
  for (const docid_t docid : lists[0]) {
    if (read % round == 0 && best.size() >= k &&
        pages.order.global_scores[docid] <= *std::next(best.begin(), static_cast<long>(k) - 1))
      break;
    ++read;
    std::size_t i = 0;
    for (; i < lists.size() && lists[i].count(docid) > 0; ++i) query.ends[i] = docid + 1;
    if (i == lists.size()) best.insert(scores.at(docid));
  }
  return query;
}

inline void add_all(const CachedPages& pages, LogQueries& log) {
  for (const auto& terms : pages.log) log.add(text_of(terms));
}

inline LogDemand demand_of(const CachedPages& pages, const CacheBlocks& blocks, const DemandOptions& options) {
  const Resources& resources = pages.pages.pipeline.resources;
  LogQueries log(pages.index.manifest().analyzer, pages.pages.pipeline.resources);
  add_all(pages, log);
  return measure_demand(pages.engine, blocks, log, options, resources);
}

struct PlainDemand {
  std::uint64_t queries = 0;
  std::vector<std::uint64_t> visits;
};

/// A log's use of each list, block by block.
inline std::map<std::string, PlainDemand> plain_demand(const CachedPages& pages, const DemandOptions& options,
                                                       std::size_t block) {
  std::map<std::string, PlainDemand> demands;
  for (const auto& terms : pages.log) {
    const PlainQuery query = run_plainly(pages, terms, options.k, options.round);
    if (!query.known || query.ends.back() == 0) continue;
    for (std::size_t i = 0; i < query.terms.size(); ++i) {
      const auto& list = pages.model.lists().at(query.terms[i]);
      PlainDemand& demand = demands[query.terms[i]];
      ++demand.queries;
      demand.visits.resize((list.size() + block - 1) / block);
      if (options.kind == VisitKind::visited) {
        // A block is visited if it contains a document up to the last one found.
        for (std::size_t b = 0; b < demand.visits.size(); ++b)
          demand.visits[b] += list[b * block].docid < query.ends[i];
      } else {
        // Documents are looked up in the first block that does not end before them.
        const docid_t end = query.ends[i == 0 ? 0 : i - 1];
        for (std::size_t b = 0; b < demand.visits.size(); ++b)
          demand.visits[b] += end > 0 && (b == 0 || list[b * block - 1].docid < end - 1);
      }
    }
  }
  return demands;
}

}  // namespace quern::testing
