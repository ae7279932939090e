#include "quern/lab/termination_bench.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <map>

#include "quern/core/error.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

/// A query's visits and cost.
struct VisitAnswer {
  std::vector<ListVisit> visits;
  QueryStatistics counts;
};

/// The ends of queries' visits of a term's list.
using VisitEnds = std::vector<docid_t>;

/// docIDs at evenly spaced places of a list.
std::vector<docid_t> sampled_docids(const IndexReader& index, const PostingList& list) {
  std::vector<docid_t> docids;
  std::uint64_t place = 0;
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next(), ++place)
    while (docids.size() < visit_curve_points && place == docids.size() * (list.df - 1) / (visit_curve_points - 1))
      docids.push_back(cursor.docid());
  return docids;
}

VisitCurve curve_of(const IndexReader& index, const std::map<term_t, VisitEnds>& terms) {
  const auto fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most_frequent = std::max_element(terms.begin(), terms.end(), fewer);
  if (most_frequent == terms.end()) return {};
  const PostingList list = index.list(most_frequent->first);
  VisitCurve curve{index.term(most_frequent->first), list.df, most_frequent->second.size(), {}};
  for (const docid_t docid : sampled_docids(index, list)) {
    const VisitEnds& ends = most_frequent->second;
    curve.visits.push_back(
        static_cast<std::uint64_t>(std::count_if(ends.begin(), ends.end(), [&](docid_t end) { return docid < end; })));
  }
  return curve;
}

}  // namespace

TerminationFigures measure_termination(const QueryEngine& engine, std::span<const std::string_view> texts,
                                       std::size_t k, const Resources& resources) {
  TerminationFigures figures;
  figures.k = k;
  std::map<term_t, VisitEnds> terms;
  tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return engine.make_analyzer(); });
  resources.progress->start("visits", texts.size(), "queries");
  answer_in_batches<VisitAnswer>(
      texts.size(), resources.threads, resources.memory_bytes / 8,
      [&](std::size_t i, VisitAnswer& answer) {
        answer.visits =
            engine.visits(terms_of_text(texts[i], analyzers.local()), k, engine.index().block_size(), &answer.counts);
      },
      [](const VisitAnswer& answer) { return visit_bytes(answer.visits); },
      [&](std::size_t, const VisitAnswer& answer) {
        figures.queries += !answer.visits.empty();
        figures.counts += answer.counts;
        for (const ListVisit& visit : answer.visits) {
          if (visit.df >= visit_curve_points) terms[visit.term].push_back(visit.end);
        }
        resources.progress->add(1);
      });
  resources.progress->finish();
  if (figures.queries == 0)
    throw InvalidArgument("no query has all of its terms in the index; use queries for its collection");
  figures.curve = curve_of(engine.index(), terms);
  return figures;
}

}  // namespace quern
