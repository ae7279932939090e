#include "quern/search/expansion.hpp"

#include <cmath>

#include "quern/codec/kernels.hpp"
#include "quern/core/named.hpp"
#include "quern/core/natural_log.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern {
namespace {

constexpr double max_feedback = 1000;
/// Relevance model 3: Abdul-Jaleel et al.: UMass at TREC 2004: Novelty and HARD; the choices of Anserini.
constexpr ModelParameter rm3_parameters[] = {{"documents", 10, 1, max_feedback, true},
                                             {"terms", 10, 1, max_feedback, true},
                                             {"weight", 0.5, 0, 1},
                                             {"df", 0.1, 0, 1}};
/// Bose-Einstein 1: G. Amati: Probabilistic Models for Information Retrieval based on Divergence from Randomness,
/// thesis, University of Glasgow, 2003; the choices of Terrier.
constexpr ModelParameter bo1_parameters[] = {{"documents", 3, 1, max_feedback, true},
                                             {"terms", 10, 1, max_feedback, true}};

constexpr ExpansionModel models[] = {
    {"rm3", "relevance model 3 (documents 10, terms 10, weight 0.5 of the query, df 0.1)", rm3_parameters},
    {"bo1", "Bose-Einstein 1, without a weight to choose (documents 3, terms 10)", bo1_parameters},
};

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Bo1's weight of a term that occurs `freq` times in the documents, and cf = `mean` · M times in the collection.
double bo1_weight(double freq, double mean) { return freq * binary_log((1.0 + mean) / mean) + binary_log(1.0 + mean); }

double sum_of(QueryView query) {
  double sum = 0;
  for (const QueryTerm& term : query) sum += term.weight;
  return sum;
}

/// Keeps the `count` greatest weights, by decreasing weight, ties in byte order.
std::vector<std::pair<std::string_view, double>> greatest(const auto& weights, std::size_t count) {
  std::vector<std::pair<std::string_view, double>> sorted(weights.begin(), weights.end());
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, sorted.size()));
  std::partial_sort(sorted.begin(), end, sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  sorted.erase(end, sorted.end());
  return sorted;
}

}  // namespace

std::span<const ExpansionModel> all_expansion_models() { return models; }

Expansion read_expansion(std::string_view text) {
  Expansion expansion;
  expansion.model = &find_named(all_expansion_models(), model_name(text), "expansion model");
  read_parameters(text, "the expansion model " + std::string(expansion.model->name), expansion.model->parameters,
                  expansion.values);
  return expansion;
}

std::vector<ForwardReader> QueryExpander::open_forwards(const IndexShards& shards) {
  const IndexManifest& manifest = shards[0].manifest();
  if (manifest.impacts && !manifest.weighting)
    throw InvalidArgument("{}: its documents have given weights, not text: queries can't be expanded; omit {}",
                          shards.name(), option_name<"expand">);
  std::vector<ForwardReader> forwards;
  for (const IndexReader& shard : shards) forwards.push_back(ForwardReader::open(shard));
  return forwards;
}

QueryExpander::QueryExpander(const Expansion& expansion, std::span<const QueryEngine* const> engines,
                             std::span<const ForwardReader> forwards)
    : expansion_(expansion),
      num_documents_(static_cast<double>(engines.front()->index().manifest().statistics.documents)),
      integer_scale_(engines.front()->quantizer() == nullptr
                         ? 0
                         : std::floor(max_exact_sum / 2 / (engines.front()->quantizer()->levels() + 1.0))) {
  for (std::size_t i = 0; i < engines.size(); ++i)
    shards_.push_back(
        std::unique_ptr<Shard>(new Shard{engines[i], &forwards[i], first_docid(*engines[i], engines.size())}));
}

const QueryExpander::Shard& QueryExpander::shard_of(docid_t docid) const {
  const auto after = std::upper_bound(shards_.begin() + 1, shards_.end(), docid,
                                      [](docid_t wanted, const auto& shard) { return wanted < shard->first_docid; });
  return **(after - 1);
}

const QueryExpander::Term& QueryExpander::term(const Shard& shard, term_t number, Term& unknown) const {
  if (const auto known = shard.known.find(number); known != shard.known.end()) return known->second;
  const IndexReader& index = shard.engine->index();
  const PostingList list = index.list(number);
  unknown.text = index.term(number);
  unknown.cf = static_cast<double>(list.whole_cf);
  unknown.counts = counts(unknown.text, static_cast<double>(list.whole_df));
  if (shard.known.size() >= max_known_terms) return unknown;
  return shard.known.emplace(number, unknown).first->second;
}

std::vector<QueryExpander::Count> QueryExpander::counts_of(const Shard& shard, docid_t docid, std::size_t held,
                                                           QueryMemory::Claim& claim) const {
  const std::string what = shard.forward->place(docid);
  std::vector<Count> counts;
  std::vector<term_t> numbers;
  std::vector<std::string_view> literals;
  std::vector<std::uint32_t> ids;
  shard.forward->for_each_segment(docid, [&](const ForwardSegment& segment) {
    const std::uint32_t places = segment.stream_places()[0] + segment.stream_places()[1];
    if (places == 0) return;
    claim.raise_to((held + counts.size() + segment.num_terms()) * entry_bytes +
                   (segment.num_terms() + places) * sizeof(std::uint32_t));
    segment.read_terms(numbers, literals, what);
    ids.resize(places + unpack_slack);
    segment.unpack(0, places, ids.data());
    std::vector<std::uint32_t> freqs(numbers.size() + literals.size() + 1);
    for (std::uint32_t i = 0; i < places; ++i) {
      if (ids[i] >= freqs.size()) throw CorruptFile(what + ": an unknown term");
      ++freqs[ids[i]];
    }
    const auto old = static_cast<std::ptrdiff_t>(counts.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (freqs[i + 1] > 0) counts.push_back({numbers[i], freqs[i + 1]});
    if (old == 0) return;
    std::inplace_merge(counts.begin(), counts.begin() + old, counts.end(),
                       [](const Count& a, const Count& b) { return a.number < b.number; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < counts.size(); ++i)
      if (counts[i].number == counts[kept].number)
        counts[kept].freq += counts[i].freq;
      else
        counts[++kept] = counts[i];
    counts.resize(kept + 1);
  });
  return counts;
}

bool QueryExpander::counts(const std::string& text, double df) const {
  constexpr std::size_t shortest = 2, longest = 20;
  const std::size_t length = characters(text);
  return length >= shortest && length <= longest && df <= expansion_.values[3] * num_documents_;
}

std::vector<std::pair<std::string, double>> QueryExpander::relevant_terms(const Shard& shard,
                                                                          std::span<const Count> counts) const {
  // Most terms are never looked up. They are numbered in byte order, so the greatest key is the next term.
  std::vector<std::uint64_t> keys;
  keys.reserve(counts.size());
  for (const Count& count : counts) keys.push_back(std::uint64_t{count.freq} << 32 | (term_t{0} - count.number - 1));
  std::make_heap(keys.begin(), keys.end());
  std::vector<std::pair<std::string, double>> chosen;
  Term unknown;
  while (!keys.empty() && chosen.size() < terms()) {
    std::pop_heap(keys.begin(), keys.end());
    const auto number = static_cast<term_t>(term_t{0} - static_cast<term_t>(keys.back()) - 1);
    if (const Term& next = term(shard, number, unknown); next.counts)
      chosen.emplace_back(next.text, static_cast<double>(keys.back() >> 32));
    keys.pop_back();
  }
  return chosen;
}

QueryExpander::Weights QueryExpander::rm3(QueryView query, std::span<const ScoredDocument> documents) const {
  Weights relevance, weights;
  for (const ScoredDocument& document : documents) {
    QueryMemory::Claim claim(shards_.front()->engine->memory());
    const Shard& shard = shard_of(document.docid);
    const auto chosen = relevant_terms(shard, counts_of(shard, document.docid - shard.first_docid, 0, claim));
    double sum = 0;
    for (const auto& [term, freq] : chosen) sum += freq;
    for (const auto& [term, freq] : chosen) relevance[term] += freq / sum * static_cast<double>(document.score);
  }
  const auto best = greatest(relevance, terms());
  double sum = 0;
  for (const auto& [term, weight] : best) sum += weight;
  if (!(sum > 0)) return weights;
  const double share = expansion_.values[2], query_sum = sum_of(query);
  for (const QueryTerm& term : query) weights[term.term] = share * (term.weight / query_sum);
  for (const auto& [term, weight] : best) weights[std::string(term)] += (1.0 - share) * (weight / sum);
  return weights;
}

QueryExpander::Weights QueryExpander::bo1(QueryView query, std::span<const ScoredDocument> documents) const {
  struct Bagged {
    double freq = 0, cf = 0;
    unsigned documents = 0;
  };
  std::map<std::string, Bagged, std::less<>> bag;
  Term unknown;
  QueryMemory::Claim claim(shards_.front()->engine->memory());
  for (const ScoredDocument& document : documents) {
    const Shard& shard = shard_of(document.docid);
    for (const Count& count : counts_of(shard, document.docid - shard.first_docid, bag.size(), claim)) {
      const Term& known = term(shard, count.number, unknown);
      Bagged& bagged = bag[known.text];
      bagged.cf = known.cf;
      bagged.freq += static_cast<double>(count.freq);
      ++bagged.documents;
    }
  }
  Weights added, weights;
  const auto is_of_query = [&](const std::string& text) {
    return std::any_of(query.begin(), query.end(), [&](const QueryTerm& term) { return term.term == text; });
  };
  for (const auto& [text, bagged] : bag)
    if (documents.size() < 2 || bagged.documents >= 2 || is_of_query(text))
      // The greater one is cf, unless the index is damaged.
      added[text] = bo1_weight(bagged.freq, std::max(bagged.cf, bagged.freq) / num_documents_);
  const auto best = greatest(added, std::max(terms(), query.size()));
  if (best.empty()) return weights;
  const double most = bag.find(best.front().first)->second.freq;
  const double norm = bo1_weight(most, most / num_documents_);
  double most_in_query = 0;
  for (const QueryTerm& term : query) most_in_query = std::max(most_in_query, term.weight);
  for (const QueryTerm& term : query) weights[term.term] = term.weight / most_in_query;
  for (const auto& [term, weight] : best) weights[std::string(term)] += weight / norm;
  return weights;
}

QueryTerms QueryExpander::usable(const Weights& weights) const {
  QueryTerms terms;
  for (const auto& [term, weight] : weights)
    if (weight >= min_query_weight) terms.push_back({term, weight});
  if (integer_scale_ == 0) return terms;
  const double sum = sum_of(terms);
  for (QueryTerm& term : terms) term.weight = std::max(1.0, std::floor(term.weight / sum * integer_scale_ + 0.5));
  return terms;
}

QueryTerms QueryExpander::expand(QueryView query, std::span<const ScoredDocument> documents) const {
  documents = documents.first(std::min(documents.size(), this->documents()));
  const bool is_rm3 = expansion_.model == models;
  const Weights weights = is_rm3 ? rm3(query, documents) : bo1(query, documents);
  return weights.empty() ? QueryTerms(query.begin(), query.end()) : usable(weights);
}

void QueryExpander::Batch::add_cost(std::size_t query, QueryAnswer& answer) const {
  answer.time_us += costs[query].time_us;
  answer.statistics += costs[query].statistics;
}

QueryExpander::Batch QueryExpander::expand(SearchBackend& backend, SearchRequest request, unsigned threads,
                                           IndexPages* pages) const {
  std::vector<QueryTerms> expanded(request.queries.size());
  Batch batch;
  batch.costs.resize(request.queries.size());
  request.k = documents();
  AnswerConsumer consumer;
  consumer.threads = threads;
  consumer.render = [&](std::size_t i, QueryAnswer& answer) {
    const auto begun = WallClock::now();
    expanded[i] = expand(request.queries[i], answer.documents);
    batch.costs[i].statistics = answer.statistics;
    batch.costs[i].time_us = answer.time_us + us_since(begun);
    if (pages != nullptr) pages->note_query();
  };
  consumer.take = [](std::size_t, const QueryAnswer&) {};
  run(backend, request, consumer);
  batch.queries = ParsedQueries(expanded.size(), 1, [&](std::size_t i) { return std::move(expanded[i]); });
  return batch;
}

}  // namespace quern
