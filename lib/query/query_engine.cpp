#include "quern/query/query_engine.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>

namespace quern {
namespace {

/// Queries whose results are held at once before they are handed over.
constexpr std::size_t batch_queries = 2048;

}  // namespace

QueryEngine::QueryEngine(const IndexReader& index, const ScoringOptions& options) : index_(index), options_(options) {
  const double average = index.manifest().statistics.average_length();
  constants_.resize(index.num_documents());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, constants_.size(), 1 << 14), [&](const auto& range) {
    for (std::size_t docid = range.begin(); docid < range.end(); ++docid)
      constants_[docid] = document_constant(index.lengths()[docid], average, options.bm25);
  });
}

std::vector<WeightedList> QueryEngine::lists_of(std::vector<std::string> terms, bool& all_found) const {
  std::vector<WeightedList> lists;
  all_found = true;
  std::sort(terms.begin(), terms.end());
  for (std::size_t i = 0; i < terms.size();) {
    std::size_t end = i + 1;
    while (end < terms.size() && terms[end] == terms[i]) ++end;
    if (const auto list = index_.find(terms[i])) {
      const double idf = inverse_document_frequency(options_.idf, index_.manifest().statistics.documents, list->df);
      lists.push_back({*list, term_weight(static_cast<unsigned>(end - i), idf, options_.bm25)});
    } else {
      all_found = false;
    }
    i = end;
  }
  std::sort(lists.begin(), lists.end(), [](const WeightedList& a, const WeightedList& b) {
    return a.list.df != b.list.df ? a.list.df < b.list.df : a.list.number < b.list.number;
  });
  return lists;
}

std::vector<ScoredDocument> QueryEngine::search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                                Analyzer& analyzer, QueryStatistics* statistics) const {
  bool all_found = false;
  const std::vector<WeightedList> lists = lists_of(analyzer.terms(text), all_found);
  if (lists.empty() || (algorithm.matching == Matching::all && !all_found)) return {};
  TopK top(k);
  QueryStatistics counted;
  ScoringContext context;
  context.index = &index_;
  context.statistics = &counted;
  context.constants = constants_;
  context.all_terms_found = all_found;
  context.bounds_hold = options_.bm25 == index_.manifest().bm25;
  algorithm.run(context, lists, top);
  if (statistics) *statistics += counted;
  return top.take();
}

void run_batch(const QueryEngine& engine, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
               std::size_t k, unsigned threads, const std::function<void(std::size_t, const QueryAnswer&)>& take) {
  using Clock = std::chrono::steady_clock;
  tbb::task_arena arena(static_cast<int>(threads));
  tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return engine.make_analyzer(); });
  std::vector<QueryAnswer> answers;
  const auto answer = [&](std::string_view text, QueryAnswer& out) {
    const auto begun = Clock::now();
    out.documents = engine.search(text, algorithm, k, analyzers.local(), &out.statistics);
    out.time_us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  };
  for (std::size_t from = 0; from < texts.size(); from += batch_queries) {
    const std::size_t count = std::min(batch_queries, texts.size() - from);
    answers.assign(count, {});
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, count, 1),
          [&](const auto& range) {
            for (std::size_t i = range.begin(); i < range.end(); ++i) answer(texts[from + i], answers[i]);
          },
          tbb::simple_partitioner());
    });
    for (std::size_t i = 0; i < count; ++i) take(from + i, answers[i]);
  }
}

}  // namespace quern
