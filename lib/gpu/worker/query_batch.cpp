#include "quern/gpu/worker/query_batch.hpp"

#include <bit>
#include <cmath>

#include "quern/gpu/device/in_parallel.hpp"
#include "quern/search/scoring.hpp"

namespace quern::gpu {
namespace {

/// Covers the rounding errors of float32 from a posting to its value, and in a sum of max_terms term scores.
constexpr double rounding_slack = 0x1p-15;

/// Upper bound of a list's term scores.
float max_term_score(const QueryEngine& engine, const WeightedList& list, const ListScorer& scorer) {
  if (!list.list.is_short()) return scorer.term_score_of(scorer.bounds_hold() ? list.list.max_impact : 1.0f);
  BlockReader reader(engine.index(), list.list);
  return scorer.list_bound(reader);
}

/// Upper bound of a list's values. `max_score`: upper bound of its term scores.
double max_value(const QueryEngine& engine, const WeightedList& list, const ListScorer& scorer, float max_score) {
  const ImpactQuantizer* quantizer = engine.quantizer();
  if (quantizer) return static_cast<double>(max_score) / list.count;
  const float impact = list.list.is_short() || !scorer.bounds_hold() ? 1.0f : list.list.max_impact;
  return std::min<double>(value_steps, std::ceil(impact * value_steps * (1 + rounding_slack)) + 1);
}

}  // namespace

void QueryBatch::decode_raw(const PostingList& list, const ListView& view) {
  BlockReader reader(engine_.index(), list);
  reader.load(0);
  const auto docids = reader.docids();
  const auto freqs = reader.freqs();
  std::copy(docids.begin(), docids.end(), raw_docids.data() + view.first_word);
  std::uint32_t* values = raw_values.data() + view.first_word;
  const ImpactQuantizer* quantizer = engine_.quantizer();
  if (!quantizer) {
    std::copy(freqs.begin(), freqs.end(), values);
    return;
  }
  const float weight = engine_.index().quantized_weight(list);
  for (std::size_t i = 0; i < docids.size(); ++i)
    values[i] = (*quantizer)(weight * engine_.index().impact_of(freqs[i], engine_.constants()[docids[i]]));
}

ListView QueryBatch::view_of(const PostingList& list) const {
  if (!list.block_last.empty()) return coded_view(engine_.index(), list);
  ListView view;
  view.df = static_cast<std::uint32_t>(list.df);
  view.raw = 1;
  return view;
}

void QueryBatch::add_list(const PostingList& list, ListView view) {
  const auto number = static_cast<std::uint32_t>(lists.size());
  if (view.raw) {
    view.first_word = raw_postings_;
    raw_postings_ += view.df;
    new_raw_.emplace_back(&list, number);
  } else {
    coded.emplace_back(number, &list);
  }
  entries += entry_words(view.df);
  lists.push_back(view);
}

void QueryBatch::clear(const ListCache* cache) {
  fronts_.reset();
  if (cache != nullptr) fronts_.emplace(*cache);
  lists.clear();
  coded.clear();
  entries_of.lists.clear();
  entries_of.blocks = 0;
  terms.clear();
  queries.clear();
  raw_docids.clear();
  raw_values.clear();
  numbers_.clear();
  new_raw_.clear();
  tasks = 0;
  entries = postings = 0;
  raw_postings_ = 0;
}

void QueryBatch::make_queries(std::span<const UnbatchedQuery> waiting, const BatchWork& work) {
  made_.first_terms.assign(1, 0);
  for (const UnbatchedQuery& query : waiting)
    made_.first_terms.push_back(made_.first_terms.back() + query.lists.size());
  made_.terms.resize(made_.first_terms.back());
  made_.views.resize(made_.first_terms.back());
  made_.queries.resize(waiting.size());
  in_parallel(waiting.size(), [&](std::size_t i) {
    made_.queries[i] = make_query(waiting[i], work, made_.terms_of(i));
    const std::span<ListView> views = made_.views_of(i);
    for (std::size_t j = 0; j < views.size(); ++j) views[j] = view_of(waiting[i].lists[j].list);
  });
}

std::size_t QueryBatch::add(std::span<const UnbatchedQuery> waiting, const BatchWork& work,
                            const std::function<bool()>& fits) {
  make_queries(waiting, work);
  terms.reserve(terms.size() + made_.terms.size());
  queries.reserve(queries.size() + waiting.size());
  const auto add_one = [&](std::size_t i) { add(waiting[i], i); };
  std::size_t taken = 0;
  if (queries.empty()) {
    // Most batches fit, so checking once at the end saves time.
    for (; taken < waiting.size(); ++taken) add_one(taken);
    if (!fits()) {
      clear(fronts_ ? &fronts_->cache() : nullptr);
      taken = 0;
    }
  }
  for (; taken < waiting.size() && fits(); ++taken) add_one(taken);

  raw_docids.resize(raw_postings_);
  raw_values.resize(raw_postings_);
  in_parallel(new_raw_.size(), [&](std::size_t i) { decode_raw(*new_raw_[i].first, lists[new_raw_[i].second]); });
  new_raw_.clear();
  return taken;
}

BatchQuery QueryBatch::make_query(const UnbatchedQuery& waiting, const BatchWork& work,
                                  std::span<BatchTerm> own_terms) const {
  const std::span<const WeightedList> weighted = waiting.lists;
  const ImpactQuantizer* quantizer = engine_.quantizer();
  ScoringContext context = engine_.scoring_context();
  context.passing = work.passing;
  BatchQuery query;
  query.terms = static_cast<std::uint32_t>(weighted.size());

  const auto per_value = [&](const WeightedList& list) {
    return quantizer ? list.count : static_cast<double>(list.weight) / value_steps;
  };
  std::vector<double> max_values;  // per list
  std::vector<float> max_scores;
  max_values.reserve(weighted.size());
  max_scores.reserve(weighted.size());
  double sum = 0;
  for (const WeightedList& list : weighted) {
    const ListScorer scorer(context, list);
    const float max_score = max_term_score(engine_, list, scorer);
    max_values.push_back(max_value(engine_, list, scorer, max_score));
    max_scores.push_back(max_score);
    sum += max_score;
  }
  query.exact_units = quantizer != nullptr && sum <= max_units;
  double scale = 1;
  if (!query.exact_units) {
    // The largest possible sum must fit, with each term score's units rounded up.
    double max_sum = max_static_score_;
    for (std::size_t i = 0; i < weighted.size(); ++i) max_sum += max_values[i] * per_value(weighted[i]);
    if (max_sum > 0)
      scale = (max_units - 2.0 * static_cast<double>(weighted.size() + 1)) / (max_sum * (1 + rounding_slack));
  }
  query.scale = static_cast<float>(scale);
  double total = std::ceil(max_static_score_ * scale) + 1, rounded = static_cast<double>(weighted.size()) + 2;
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    BatchTerm& term = own_terms[i];
    term = {};
    term.list = weighted[i].list.number;
    term.weight = weighted[i].weight;
    term.max_term_score = max_scores[i];
    if (quantizer)
      term.impact_steps = static_cast<float>(engine_.index().quantized_weight(weighted[i].list) * quantizer->scale() *
                                             (1 + rounding_slack));
    double units = per_value(weighted[i]);
    if (!query.exact_units) {
      units *= scale * (1 + rounding_slack / 2);
      term.unit_offset = 1;
      rounded += quantizer ? 0 : units;  // a value is an impact rounded up
    }
    term.unit_weight = static_cast<std::uint32_t>(std::ceil(units * 65536));
    term.max_units = static_cast<std::uint32_t>(max_values[i] * term.unit_weight / 65536) + term.unit_offset;
    total += term.max_units;
  }
  if (!work.intersect || weighted.size() == 1) {
    const float primed = primed_threshold(context, weighted, work.k);
    // Results score more than `primed`.
    if (query.exact_units)
      query.min_units = std::max(1u, static_cast<std::uint32_t>(std::floor(primed)) + 1);
    else if (primed > 0)
      query.min_units = std::max(1u, static_cast<std::uint32_t>(primed * scale * (1 - rounding_slack)));
  }
  query.min_units = std::max(query.min_units, waiting.min_units);
  const auto max_sum = static_cast<std::uint32_t>(std::min<double>(total, max_units));
  const std::uint32_t span = max_sum > query.min_units ? max_sum - query.min_units : 0;
  query.step_shift = span < threshold_steps ? 0 : static_cast<std::uint32_t>(std::bit_width(span / threshold_steps));
  if (!query.exact_units) {
    query.lower_factor = static_cast<float>(1 - 4 * rounding_slack);
    query.lower_margin = static_cast<std::uint32_t>(std::ceil(rounded)) + 1;
  }
  return query;
}

void QueryBatch::add(const UnbatchedQuery& waiting, std::size_t own) {
  BatchQuery& query = queries.emplace_back(made_.queries[own]);
  query.first_term = static_cast<std::uint32_t>(terms.size());
  const std::span<const BatchTerm> own_terms = made_.terms_of(own);
  const std::span<const ListView> views = made_.views_of(own);
  for (std::size_t i = 0; i < own_terms.size(); ++i) {
    BatchTerm& term = terms.emplace_back(own_terms[i]);
    const auto [number, is_new] = numbers_.number_of(term.list);
    if (is_new) {
      const PostingList& list = waiting.lists[i].list;
      const PostingList& read = fronts_ ? fronts_->list_to_read(list) : list;
      add_list(read, &read == &list ? views[i] : view_of(read));
    }
    term.list = number;
    postings += lists[number].df;
  }
  query.first_task = tasks;
  const ListView& shortest = lists[terms[query.first_term].list];
  tasks += shortest.raw ? (shortest.df + 31) / 32 : shortest.rows;
}

std::vector<std::uint64_t> QueryBatch::blocks_for_intersections() const {
  std::vector<std::uint64_t> blocks(lists.size());
  for (const BatchQuery& query : queries) {
    const std::uint32_t shortest = terms[query.first_term].list;
    for (std::uint32_t i = 0; i < query.terms; ++i) {
      const std::uint32_t list = terms[query.first_term + i].list;
      blocks[list] += list == shortest ? lists[list].rows : std::min(lists[list].rows, lists[shortest].df);
    }
  }
  return blocks;
}

}  // namespace quern::gpu
