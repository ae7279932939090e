#include "quern/search/query_engine.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "quern/search/hash_segments.hpp"

namespace quern {
namespace {

void check_quantized(const IndexReader& index, const ScoringOptions& options) {
  const IndexManifest& manifest = index.manifest();
  if (!index.quantizer())
    throw InvalidArgument("{}: has no quantized impacts; build it with {} BITS, or use {} exact", index.name(),
                          option_name<"quantize">, option_name<"scores">);
  if (options.bm25 != manifest.bm25 || options.idf != Idf::lucene)
    throw InvalidArgument(
        "{}: its quantized impacts were computed with k1 {}, b {} and the lucene IDF; use these, build the index with "
        "other {} and {}, or use {} exact",
        index.name(), manifest.bm25.k1, manifest.bm25.b, option_name<"k1">, option_name<"b">, option_name<"scores">);
}

/// Scores are sums of given impacts, whatever the options say; those that would change them are refused.
void check_given(const IndexReader& index, const ScoringOptions& options) {
  const auto refuse = [&](const std::string& named) {
    const auto& weighting = index.manifest().weighting;
    throw InvalidArgument("{}: its scores are sums of weights {}; omit {}", index.name(),
                          weighting ? fmt::format("of the model {}", weighting->model->name) : "given by the corpus",
                          named);
  };
  if (options.bm25 != index.manifest().bm25) refuse(fmt::format("{} and {}", option_name<"k1">, option_name<"b">));
  if (options.idf != Idf::lucene) refuse(option_name<"idf">);
  if (options.scorer != Scorer::bm25) refuse(option_name<"scorer">);
}

/// The callback of find_lists(): appends each list of a query.
auto appending_to(std::vector<WeightedList>& lists) {
  return [&lists](const PostingList& list, double count) { lists.push_back({list, static_cast<float>(count), count}); };
}

/// An empty collector for the k best of `candidates` documents. Raises `claim` to its memory and the lists'.
/// `algorithm` may be null.
TopK claimed_top(QueryMemory::Claim& claim, std::span<const WeightedList> lists, std::size_t k,
                 std::uint64_t candidates, const QueryAlgorithm* algorithm = nullptr) {
  std::uint64_t bytes = lists.size() * query_list_bytes + TopK::bytes(k, candidates);
  if (algorithm && algorithm->cuts_rows)
    for (const WeightedList& list : lists) bytes += RowBuckets::bytes(list.list.block_last.size());
  claim.raise_to(bytes);
  return TopK(k, candidates);
}

}  // namespace

QueryEngine::QueryEngine(const IndexReader& index, const ScoringOptions& options, unsigned threads, QueryMemory memory)
    : index_(index),
      options_(options),
      memory_(std::move(memory)),
      found_terms_(index, memory_.for_terms() / FoundTerms::term_bytes),
      bitmaps_(index, memory_.for_bitmaps()) {
  on_threads(threads, [&] { prepare(); });
}

QueryReader QueryEngine::reader(QueryKind kind) const {
  return {index_.manifest().analyzer, kind, QueryWeights{quantizer_.has_value(), options_.query_scale}, &memory_};
}

void QueryEngine::prepare() {
  if (index_.manifest().impacts) {
    check_given(index_, options_);
    options_.scores = Scores::quantized;
  }
  if (options_.scores == Scores::quantized) {
    check_quantized(index_, options_);
    quantizer_ = index_.quantizer();
  }
  check_bm25(options_.bm25);
  check_range("alpha", options_.alpha, 0, 1);
  if (options_.query_scale) {
    check_range("the query weight scale", *options_.query_scale, min_query_weight, max_query_weight);
    if (!quantizer_) throw InvalidArgument("exact scores use weights unchanged; omit {}", option_name<"query-scale">);
  }
  index_.container().check_section("lengths");
  const double average = index_.manifest().statistics.average_length();
  constants_.resize(index_.num_documents());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, constants_.size(), 1 << 14), [&](const auto& range) {
    for (std::size_t docid = range.begin(); docid < range.end(); ++docid)
      constants_[docid] = document_constant(index_.lengths()[docid], average, options_.bm25);
  });
  if (options_.scorer == Scorer::bm25) {
    why_not_early_ = "scores do not include PageRank";
    return;
  }
  use_pagerank();
  use_global_scores();
}

std::uint64_t QueryEngine::table_bytes(const IndexReader& index, Scorer scorer) {
  const std::uint64_t numbers = scorer == Scorer::bm25_pagerank ? 2 : 1;
  return index.num_documents() * numbers * sizeof(float);
}

void QueryEngine::use_pagerank() {
  const auto pagerank = index_.pagerank();
  if (quantizer_)
    throw InvalidArgument("quantized scores cannot include PageRank; use {} exact", option_name<"scores">);
  if (pagerank.empty() && index_.num_documents() > 0)
    throw InvalidArgument(
        "{}: has no PageRank; build the index with '{} links' (or a score file), or from an order made with '{} links'",
        index_.name(), option_name<"index pagerank">, option_name<"order pagerank">);
  index_.check_document_scores();
  if (index_.manifest().shard) whole_.emplace(StatisticsBeside::open(index_));
  const auto alpha = static_cast<float>(options_.alpha);
  static_scores_.resize(pagerank.size());
  static_score_bounds_.resize((pagerank.size() + static_bound_documents - 1) / static_bound_documents);
  for (std::size_t docid = 0; docid < pagerank.size(); ++docid) {
    static_scores_[docid] = alpha * pagerank[docid];
    float& bound = static_score_bounds_[docid / static_bound_documents];
    bound = std::max(bound, static_scores_[docid]);
  }
}

void QueryEngine::use_global_scores() {
  const auto scores = index_.global_scores();
  const auto& made_with = index_.manifest().scores;
  if (scores.empty() || !made_with) {
    why_not_early_ = fmt::format("the index is not ordered by global score ({} score)", option_name<"index order">);
  } else if (made_with->alpha != options_.alpha || made_with->bm25 != options_.bm25) {
    why_not_early_ = fmt::format("the index's global scores were computed with alpha {}, k1 {} and b {}",
                                 made_with->alpha, made_with->bm25.k1, made_with->bm25.b);
  } else if (!options_.early_termination) {
    why_not_early_ = "it is turned off by the options";
  } else {
    upper_bounds_ = scores;
  }
}

double QueryEngine::idf_of(std::uint64_t df) const {
  return inverse_document_frequency(options_.idf, index_.manifest().statistics.documents, df);
}

std::optional<double> QueryEngine::idf_sum_of_whole(QueryView query) const {
  if (!whole_) return std::nullopt;
  struct Summand {
    std::uint64_t df;
    double weight;
  };
  std::vector<Summand> summands;
  for (const QueryTerm& term : query)
    if (const auto counts = whole_->find(term.term)) summands.push_back({counts->df, term.weight});
  // Terms are sorted, and so are the numbers of lists.
  std::stable_sort(summands.begin(), summands.end(), [](const Summand& a, const Summand& b) { return a.df < b.df; });
  double sum = 0;
  for (const Summand& summand : summands) sum += summand.weight * idf_of(summand.df);
  return sum;
}

void QueryEngine::set_weights(std::span<WeightedList> lists, const ScoringOptions& options,
                              std::optional<double> idf_sum) const {
  if (quantizer_) return;
  const auto idf = [&](const WeightedList& list) { return idf_of(list.list.whole_df); };
  if (options.scorer == Scorer::bm25) {
    for (WeightedList& list : lists) list.weight = term_weight(list.count, idf(list), options.bm25);
    return;
  }
  double sum = 0;
  for (const WeightedList& list : lists) sum += list.count * idf(list);
  if (idf_sum) sum = *idf_sum;
  for (WeightedList& list : lists) list.weight = static_cast<float>((1 - options.alpha) * list.count * idf(list) / sum);
}

void QueryEngine::count_depths(std::span<const WeightedList> lists, QueryStatistics& statistics) const {
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const PostingList& list = lists[i].list;
    std::uint64_t read = list.df;
    if (!list.block_last.empty()) {
      const std::size_t block = search_rows(list.block_last, 0, statistics.stopped_at - 1);
      read = std::min<std::uint64_t>(list.df, (block + 1) * std::uint64_t{index_.block_size()});
    }
    statistics.depths[std::min(i, statistics.depths.size() - 1)].add(list.df, read);
  }
}

void QueryEngine::check_sums(std::span<const WeightedList> lists) const {
  double sum = 0;
  for (const WeightedList& list : lists) {
    const std::uint64_t impact = index_.manifest().impacts ? index_.quantized_max_impact(list.list)
                                 : list.list.is_short()    ? quantizer_->levels()
                                                           : (std::uint64_t{1} << list.list.impact_width) - 1;
    sum += static_cast<double>(impact) * list.count;
  }
  if (sum < max_exact_sum) return;
  if (index_.manifest().impacts)
    throw InvalidArgument(
        "a query of {} terms could score {}, but scores must stay below {}; shorten it, or scale its weights down",
        lists.size(), sum, max_exact_sum);
  throw InvalidArgument(
      "a query of {} terms could score {}, but quantized scores must stay below {}; shorten it, build the index with "
      "fewer bits than {} {}, or use {} exact",
      lists.size(), sum, max_exact_sum, option_name<"quantize">, quantizer_->bits(), option_name<"scores">);
}

void QueryEngine::append_lists(QueryView query, bool& all_found, std::vector<WeightedList>& lists) const {
  const std::size_t others = lists.size();
  all_found = find_lists(found_terms_, query, false, appending_to(lists));
  order_and_weigh(query, std::span(lists).subspan(others));
}

std::vector<WeightedList> QueryEngine::lists_of(QueryView query, bool& all_found) const {
  std::vector<WeightedList> lists;
  lists.reserve(query.size());
  append_lists(query, all_found, lists);
  return lists;
}

void QueryEngine::order_and_weigh(QueryView query, std::span<WeightedList> lists) const {
  std::sort(lists.begin(), lists.end(),
            [](const WeightedList& a, const WeightedList& b) { return summed_before(a.list, b.list); });
  set_weights(lists, options_, idf_sum_of_whole(query));
}

std::uint64_t QueryEngine::max_matches(std::span<const WeightedList> lists) const {
  std::uint64_t postings = 0;
  for (const WeightedList& list : lists) postings += list.list.df;
  return std::min<std::uint64_t>(postings, index_.num_documents());
}

std::vector<ScoredDocument> QueryEngine::search(QueryView query, const QueryAlgorithm& algorithm, std::size_t k,
                                                QueryStatistics* statistics, const DocumentSet* passing,
                                                float above) const {
  const auto begun = WallClock::now();
  check_range("k", k, 1, end_docid);
  check_passing(passing);
  check_whole_results(index_, algorithm);
  QueryMemory::Claim claim(memory_);
  claim.raise_to(query.size() * sizeof(WeightedList));
  std::vector<WeightedList> lists;
  lists.reserve(query.size());
  const bool all_needed = algorithm.matching == Matching::all;
  const bool all_found = find_lists(found_terms_, query, all_needed, appending_to(lists));
  if (lists.empty() || (all_needed && !all_found)) return {};
  order_and_weigh(query, lists);
  TopK top = claimed_top(claim, lists, k, max_matches(lists), &algorithm);
  ScoringContext context = scoring_context();
  context.all_terms_found = all_found;
  context.passing = passing;
  if (algorithm.budget.is_set()) context.budget = &algorithm.budget;
  context.begun = begun;
  // and-or needs to know whether there are k documents with all terms.
  if (algorithm.matching != Matching::all_else_any) context.above = above;
  QueryStatistics counted;
  run(algorithm, lists, context, top, &counted);
  std::vector<ScoredDocument> best = top.take();
  counted.prove(best, k);
  if (statistics) *statistics += counted;
  return best;
}

void QueryEngine::check_passing(const DocumentSet* passing) const {
  if (passing && passing->num_documents() != index_.num_documents())
    throw InvalidArgument("{}: the filter is a set of {} documents, but the index has {}", index_.name(),
                          passing->num_documents(), index_.num_documents());
}

std::vector<ScoredDocument> QueryEngine::resume(std::span<const WeightedList> lists, std::size_t k, docid_t first,
                                                std::span<const ScoredDocument> found, QueryStatistics* statistics,
                                                const DocumentSet* passing) const {
  check_range("k", k, 1, end_docid);
  check_passing(passing);
  if (lists.empty()) return {};
  QueryMemory::Claim claim(memory_);
  TopK top = claimed_top(claim, lists, k, max_matches(lists));
  for (const ScoredDocument& document : found)
    if (document.docid < first) top.add(document.docid, document.score);
  ScoringContext context = scoring_context();
  context.first = first;
  context.passing = passing;
  run(algorithm_named("and"), lists, context, top, statistics);
  return top.take();
}

std::vector<ListVisit> QueryEngine::visits(QueryView query, std::size_t k, std::uint64_t round,
                                           QueryStatistics* statistics) const {
  check_range("k", k, 1, end_docid);
  if (round == 0 || round % index_.block_size() != 0)
    throw InvalidArgument(
        "a round of {} postings is not a multiple of the index's block size, {}; choose a multiple with {}", round,
        index_.block_size(), option_name<"round">);
  QueryMemory::Claim claim(memory_);
  claim.raise_to(query.size() * sizeof(WeightedList));
  bool all_found = false;
  const std::vector<WeightedList> lists = lists_of(query, all_found);
  if (lists.empty() || !all_found) return {};
  TopK top = claimed_top(claim, lists, k, max_matches(lists));
  VisitCount visits{round, {}};
  for (const WeightedList& list : lists) visits.lists.push_back({list.list.number, list.list.df, 0});
  ScoringContext context = scoring_context();
  context.all_terms_found = all_found;
  context.visits = &visits;
  run(algorithm_named("and"), lists, context, top, statistics);
  return visits.lists;
}

ScoringContext QueryEngine::scoring_context() const {
  ScoringContext context;
  context.index = &index_;
  context.constants = constants_;
  context.bounds_hold = options_.bm25 == index_.manifest().bm25;
  context.quantizer = quantizer();
  context.bitmaps = quantizer_ ? &bitmaps_ : nullptr;
  context.static_scores = static_scores_;
  context.static_score_bounds = static_score_bounds_;
  context.upper_bounds = upper_bounds_;
  return context;
}

void QueryEngine::run(const QueryAlgorithm& algorithm, std::span<const WeightedList> lists, ScoringContext context,
                      TopK& top, QueryStatistics* statistics) const {
  if (quantizer_) check_sums(lists);
  QueryStatistics counted;
  context.statistics = &counted;
  for (const WeightedList& list : lists) {
    counted.postings += list.list.df;
    counted.blocks += list.list.num_blocks(index_.block_size());
  }
  algorithm.run(context, lists, top);
  if (ends_early()) count_depths(lists, counted);
  if (statistics) *statistics += counted;
}

}  // namespace quern
