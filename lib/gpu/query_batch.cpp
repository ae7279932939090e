#include "quern/gpu/query_batch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "quern/gpu/in_parallel.hpp"
#include "quern/gpu/list_view.hpp"
#include "quern/query/list_bounds.hpp"
#include "quern/query/threshold.hpp"

namespace quern::gpu {
namespace {

/// Room for all roundings of float32 on the way from a posting to its value, and of a score's sum of most_terms parts.
constexpr double rounding_room = 0x1p-15;

/// Bounds the parts of a list.
float greatest_part(const QueryEngine& engine, const WeightedList& list, const ListScorer& scorer) {
  if (!list.list.is_short()) return scorer.part_of(scorer.bounds_hold() ? list.list.max_impact : 1.0f);
  BlockReader reader(engine.index(), list.list);
  return scorer.list_bound(reader);
}

/// Bounds the values of a list.
double greatest_value(const QueryEngine& engine, const WeightedList& list, const ListScorer& scorer, float part) {
  const ImpactQuantizer* quantizer = engine.quantizer();
  if (quantizer) return static_cast<double>(part) / list.count;
  const float impact = list.list.is_short() || !scorer.bounds_hold() ? 1.0f : list.list.max_impact;
  return std::min<double>(value_steps, std::ceil(impact * value_steps * (1 + rounding_room)) + 1);
}

}  // namespace

QueryBatch::QueryBatch(const QueryEngine& engine) : engine_(engine) {
  for (const float bound : engine.scoring_context().prior_bounds) greatest_prior_ = std::max(greatest_prior_, bound);
}

void QueryBatch::decode_raw(const PostingList& list, std::size_t first) {
  BlockReader reader(engine_.index(), list);
  reader.load(0);
  const auto docids = reader.docids();
  const auto freqs = reader.freqs();
  std::copy(docids.begin(), docids.end(), raw_docids.begin() + static_cast<std::ptrdiff_t>(first));
  const ImpactQuantizer* quantizer = engine_.quantizer();
  if (!quantizer) {
    std::copy(freqs.begin(), freqs.end(), raw_values.begin() + static_cast<std::ptrdiff_t>(first));
    return;
  }
  const float weight = engine_.index().quantized_weight(list);
  for (std::size_t i = 0; i < docids.size(); ++i)
    raw_values[first + i] = (*quantizer)(weight * impact(freqs[i], engine_.constants()[docids[i]]));
}

std::uint32_t QueryBatch::list_of(const PostingList& list) {
  const auto [place, is_new] = known_.try_emplace(list.number, static_cast<std::uint32_t>(lists.size()));
  if (!is_new) return place->second;
  ListView view;
  if (list.block_last.empty()) {
    view.df = static_cast<std::uint32_t>(list.df);
    view.raw = 1;
    view.first_word = raw_postings_;
    raw_postings_ += list.df;
    raw_lists_.push_back(&list);
  } else {
    view = coded_view(engine_.index(), list);
  }
  view.first_block = blocks;
  blocks += view.raw ? 1 : view.rows;
  view.first_entry = entries;
  entries += (list.df + 3) / 4 * 4;
  lists.push_back(view);
  return place->second;
}

PreparedQuery QueryBatch::prepare(std::span<const WeightedList> weighted, std::size_t k, bool conjunctive,
                                  std::uint32_t least_units) const {
  const ImpactQuantizer* quantizer = engine_.quantizer();
  const ScoringContext context = engine_.scoring_context();
  PreparedQuery prepared;
  BatchQuery& query = prepared.query;
  query.terms = static_cast<std::uint32_t>(weighted.size());

  const auto per_value = [&](const WeightedList& list) {
    return quantizer ? list.count : static_cast<double>(list.weight) / value_steps;
  };
  std::vector<double> values;  // the greatest of each list
  std::vector<float> parts;
  values.reserve(weighted.size());
  parts.reserve(weighted.size());
  prepared.terms.reserve(weighted.size());
  double sum = 0;
  for (const WeightedList& list : weighted) {
    const ListScorer scorer(context, list);
    const float part = greatest_part(engine_, list, scorer);
    values.push_back(greatest_value(engine_, list, scorer, part));
    parts.push_back(part);
    sum += part;
  }
  query.exact_units = quantizer != nullptr && sum <= greatest_units;
  double scale = 1;
  if (!query.exact_units) {
    // Of a part of 1. Each part's units are rounded up.
    double most = greatest_prior_;
    for (std::size_t i = 0; i < weighted.size(); ++i) most += values[i] * per_value(weighted[i]);
    if (most > 0)
      scale = (greatest_units - 2.0 * static_cast<double>(weighted.size() + 1)) / (most * (1 + rounding_room));
  }
  query.scale = static_cast<float>(scale);
  double total = std::ceil(greatest_prior_ * scale) + 1, rounded = static_cast<double>(weighted.size()) + 2;
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    BatchTerm& term = prepared.terms.emplace_back();
    term.weight = weighted[i].weight;
    term.greatest_part = parts[i];
    if (quantizer)
      term.impact_steps = static_cast<float>(engine_.index().quantized_weight(weighted[i].list) * quantizer->scale() *
                                             (1 + rounding_room));
    double units = per_value(weighted[i]);
    if (!query.exact_units) {
      units *= scale * (1 + rounding_room / 2);
      term.unit_more = 1;
      rounded += quantizer ? 0 : units;  // a value is an impact rounded up
    }
    term.unit_weight = static_cast<std::uint32_t>(std::ceil(units * 65536));
    term.greatest_units = static_cast<std::uint32_t>(values[i] * term.unit_weight / 65536) + term.unit_more;
    total += term.greatest_units;
  }
  if (!conjunctive || weighted.size() == 1) {
    const float primed = primed_threshold(context, weighted, k);
    // Results score more than `primed`.
    if (query.exact_units)
      query.least_units = std::max(1u, static_cast<std::uint32_t>(std::floor(primed)) + 1);
    else if (primed > 0)
      query.least_units = std::max(1u, static_cast<std::uint32_t>(primed * scale * (1 - rounding_room)));
  }
  query.least_units = std::max(query.least_units, least_units);
  const auto most = static_cast<std::uint32_t>(std::min<double>(total, greatest_units));
  const std::uint32_t span = most > query.least_units ? most - query.least_units : 0;
  query.step_shift = span < threshold_steps ? 0 : static_cast<std::uint32_t>(std::bit_width(span / threshold_steps));
  if (!query.exact_units) {
    query.lower_factor = static_cast<float>(1 - 4 * rounding_room);
    query.lower_less = static_cast<std::uint32_t>(std::ceil(rounded)) + 1;
  }
  return prepared;
}

void QueryBatch::add(std::span<const WeightedList> weighted, const PreparedQuery& prepared) {
  BatchQuery& query = queries.emplace_back(prepared.query);
  query.first_term = static_cast<std::uint32_t>(terms.size());
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    BatchTerm& term = terms.emplace_back(prepared.terms[i]);
    term.list = list_of(weighted[i].list);
    postings += weighted[i].list.df;
  }
  query.first_task = tasks;
  const ListView& shortest = lists[terms[query.first_term].list];
  tasks += shortest.raw ? (shortest.df + 31) / 32 : shortest.rows;
}

void QueryBatch::finish(std::size_t most_queries) {
  raw_docids.resize(raw_postings_);
  raw_values.resize(raw_postings_);
  std::vector<std::size_t> firsts;
  for (const ListView& view : lists)
    if (view.raw) firsts.push_back(view.first_word);
  in_parallel(firsts.size(), [&](std::size_t i) { decode_raw(*raw_lists_[i], firsts[i]); });
  chunks.clear();
  std::uint32_t chunk_has = 0;
  for (std::uint32_t i = 0; i < queries.size(); ++i) {
    if (chunks.empty() || chunks.back().queries == std::min<std::size_t>(chunk_queries, most_queries) ||
        chunk_has + queries[i].terms > chunk_terms) {
      chunks.push_back({i, 0});
      chunk_has = 0;
    }
    ++chunks.back().queries;
    chunk_has += queries[i].terms;
  }
}

}  // namespace quern::gpu
