#include "quern/search/explanation.hpp"

namespace quern {
namespace {

/// The numbers of a term that don't depend on the document.
TermExplanation explain_list(const QueryEngine& engine, const WeightedList& list) {
  TermExplanation term;
  term.term = engine.index().term(list.list.number);
  term.count = list.count;
  term.df = list.list.whole_df;
  term.weight = list.weight;
  if (engine.quantizer() == nullptr)
    term.idf =
        inverse_document_frequency(engine.options().idf, engine.index().manifest().statistics.documents, term.df);
  return term;
}

/// Adds those of a posting.
void explain_posting(const QueryEngine& engine, const WeightedList& list, docid_t docid, TermExplanation& term) {
  PostingCursor cursor(engine.index(), list.list);
  cursor.next_geq(docid);
  if (cursor.docid() != docid) return;
  term.freq = cursor.freq();
  const auto place = static_cast<std::uint16_t>(cursor.place());
  ListScorer(engine.scoring_context(), list)
      .term_scores_at(cursor.reader(), cursor.reader().block(), &docid, {&place, 1}, &term.score);
  if (engine.quantizer() == nullptr)
    term.impact = impact(term.freq, engine.constants()[docid]);
  else
    term.integer = static_cast<std::uint32_t>(term.score / term.weight);
}

}  // namespace

ScoreExplanation explain_score(const QueryEngine& engine, QueryView query, docid_t docid) {
  const IndexReader& index = engine.index();
  if (docid >= index.num_documents())
    throw InvalidArgument("{}: has {} documents, and none with docID {}", index.name(), index.num_documents(), docid);
  bool all_found = false;
  const std::vector<WeightedList> lists = engine.lists_of(query, all_found);
  ScoreExplanation explanation;
  explanation.has_integers = engine.quantizer() != nullptr;
  if (explanation.has_integers) engine.check_sums(lists);
  explanation.length = index.length(docid);
  explanation.average_length = index.manifest().statistics.average_length();
  explanation.constant = engine.constants()[docid];
  if (engine.options().scorer == Scorer::bm25_pagerank) {
    explanation.pagerank = index.pagerank()[docid];
    explanation.static_score = engine.scoring_context().static_scores[docid];
  }
  float sum = explanation.static_score;
  for (const WeightedList& list : lists) {
    TermExplanation& term = explanation.terms.emplace_back(explain_list(engine, list));
    explain_posting(engine, list, docid, term);
    if (term.freq > 0) {
      sum += term.score;
      explanation.score = sum;
    }
    term.sum = sum;
  }
  for (const QueryTerm& term : query)
    if (!engine.find(term.term)) explanation.terms.push_back({.term = term.term, .count = term.weight, .sum = sum});
  return explanation;
}

}  // namespace quern
