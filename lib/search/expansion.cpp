#include "quern/search/expansion.hpp"

#include <cmath>
#include <set>

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

/// Adds up equal neighbours of a sorted list.
template <class Entry>
void add_up_equal(std::vector<Entry>& entries, auto&& are_equal, auto&& add) {
  if (entries.empty()) return;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (are_equal(entries[kept], entries[i]))
      add(entries[kept], entries[i]);
    else
      entries[++kept] = entries[i];
  entries.resize(kept + 1);
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

QueryExpander::KnownTerms::~KnownTerms() {
  for (const std::atomic<const Term*>& slot : slots_) delete slot.load();
}

const QueryExpander::Term* QueryExpander::KnownTerms::find(term_t number) const {
  for (std::size_t i = 0; i < max_probes; ++i) {
    const Term* const term = slot(number, i).load(std::memory_order_acquire);
    if (term == nullptr || term->number == number) return term;
  }
  return nullptr;
}

const QueryExpander::Term* QueryExpander::KnownTerms::add(std::unique_ptr<Term>& term) const {
  for (std::size_t i = 0; i < max_probes; ++i) {
    const Term* found = nullptr;
    if (slot(term->number, i).compare_exchange_strong(found, term.get(), std::memory_order_acq_rel))
      return term.release();
    if (found->number == term->number) return found;
  }
  return nullptr;
}

const QueryExpander::Shard& QueryExpander::shard_of(docid_t docid) const {
  const auto after = std::upper_bound(shards_.begin() + 1, shards_.end(), docid,
                                      [](docid_t wanted, const auto& shard) { return wanted < shard->first_docid; });
  return **(after - 1);
}

const QueryExpander::Term& QueryExpander::term(const Shard& shard, term_t number, std::deque<Term>& uncached) const {
  if (const Term* const known = shard.known.find(number)) return *known;
  auto [text, list] = shard.engine->index().entry(number);
  const bool does_count = counts(text, static_cast<double>(list.whole_df));
  auto term = std::make_unique<Term>(Term{number, std::move(text), static_cast<double>(list.whole_cf), does_count});
  if (const Term* const cached = shard.known.add(term)) return *cached;
  return uncached.emplace_back(std::move(*term));
}

bool QueryExpander::counts(std::string_view text, double df) const {
  constexpr std::size_t shortest = 2, longest = 20;
  const std::size_t length = characters(text);
  return length >= shortest && length <= longest && df <= expansion_.values[3] * num_documents_;
}

void QueryExpander::count(const ForwardSegment& segment, std::string_view what, Buffers& buffers) {
  auto& [claim, parts, counts, keys, numbers, literals, ids, freqs, uncached] = buffers;
  const std::uint32_t places = segment.stream_places()[0] + segment.stream_places()[1];
  if (places == 0) return;
  const std::uint64_t known = std::uint64_t{segment.num_terms()} + segment.num_literals();
  const std::uint64_t possible = std::uint64_t{1} << id_bits_of(known);
  claim.raise_to((parts.size() + uncached.size() + counts.size() + segment.num_terms()) * entry_bytes +
                 (segment.num_terms() + places + possible) * sizeof(std::uint32_t));
  segment.read_terms(numbers, literals, what);
  ids.resize(places + unpack_slack);
  segment.unpack(0, places, ids.data());
  freqs.assign(possible, 0);
  for (std::uint32_t i = 0; i < places; ++i) ++freqs[ids[i]];
  if (std::any_of(freqs.begin() + static_cast<std::ptrdiff_t>(known) + 1, freqs.end(), [](auto f) { return f > 0; }))
    throw CorruptFile(std::string(what) + ": an unknown term");
  const auto old = static_cast<std::ptrdiff_t>(counts.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (freqs[i + 1] > 0) counts.push_back({numbers[i], freqs[i + 1]});
  if (old == 0) return;
  std::inplace_merge(counts.begin(), counts.begin() + old, counts.end(),
                     [](const Count& a, const Count& b) { return a.number < b.number; });
  add_up_equal(
      counts, [](const Count& a, const Count& b) { return a.number == b.number; },
      [](Count& sum, const Count& next) { sum.freq += next.freq; });
}

void QueryExpander::count(const Shard& shard, docid_t docid, Buffers& buffers) {
  const std::string what = shard.forward->place(docid);
  buffers.counts.clear();
  shard.forward->for_each_segment(docid, [&](const ForwardSegment& segment) { count(segment, what, buffers); });
}

bool QueryExpander::is_before(const Part& a, const Part& b) {
  return a.shard == b.shard ? a.number < b.number : a.term->text < b.term->text;
}

void QueryExpander::merge(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), is_before);
  add_up_equal(
      parts, [](const Part& a, const Part& b) { return !is_before(a, b); },
      [](Part& sum, const Part& next) {
        sum.freq += next.freq;
        sum.value += next.value;
        sum.documents += next.documents;
        sum.is_of_query |= next.is_of_query;
      });
}

void QueryExpander::merge_if_many(std::vector<Part>& parts, std::size_t& merged) {
  constexpr std::size_t few = 4096;
  if (parts.size() <= 2 * merged + few) return;
  merge(parts);
  merged = parts.size();
}

void QueryExpander::keep_greatest(std::vector<Part>& parts, std::size_t count) {
  const auto end = parts.begin() + static_cast<std::ptrdiff_t>(std::min(count, parts.size()));
  std::partial_sort(parts.begin(), end, parts.end(), [](const Part& a, const Part& b) {
    return a.value != b.value ? a.value > b.value : is_before(a, b);
  });
  parts.erase(end, parts.end());
}

void QueryExpander::add_relevant(const Shard& shard, double score, Buffers& buffers) const {
  auto& [claim, parts, counts, keys, numbers, literals, ids, freqs, uncached] = buffers;
  const std::size_t first = parts.size();
  constexpr freq_t most = 63;  // and more, which are sorted together
  std::array<std::size_t, most + 1> of_freq{};
  for (const Count& count : counts) ++of_freq[std::min(count.freq, most)];
  // Most terms are rare. So the most frequent ones are sorted and looked up first, three times as many as are needed,
  // since some do not count; others only if these do not suffice. Terms are numbered in byte order, so the greatest key
  // is the next term.
  freq_t least = most + 1;
  for (freq_t below = least; below > 1 && parts.size() < first + terms(); below = least) {
    const std::size_t enough = 3 * (first + terms() - parts.size());
    std::size_t chosen = 0;
    while (least > 1 && chosen < enough) chosen += of_freq[--least];
    keys.resize(counts.size());
    std::size_t found = 0;
    for (const Count& count : counts) {  // without branches, which would be mispredicted
      keys[found] = std::uint64_t{count.freq} << 32 | (term_t{0} - count.number - 1);
      const freq_t freq = std::min(count.freq, most);
      found += static_cast<std::size_t>(freq >= least) & static_cast<std::size_t>(freq < below);
    }
    keys.resize(found);
    std::sort(keys.begin(), keys.end(), std::greater<>());
    for (std::size_t i = 0; i < keys.size() && parts.size() < first + terms(); ++i) {
      const auto number = static_cast<term_t>(term_t{0} - static_cast<term_t>(keys[i]) - 1);
      if (const Term& next = term(shard, number, uncached); next.counts)
        parts.push_back({&shard, number, static_cast<double>(keys[i] >> 32), 0, &next});
    }
  }
  double sum = 0;
  for (std::size_t i = first; i < parts.size(); ++i) sum += parts[i].freq;
  for (std::size_t i = first; i < parts.size(); ++i) parts[i].value = parts[i].freq / sum * score;
}

QueryExpander::Weights QueryExpander::rm3(QueryView query, std::span<const ScoredDocument> documents,
                                          Buffers& buffers) const {
  std::vector<Part>& parts = buffers.parts;
  std::size_t merged = 0;
  for (const ScoredDocument& document : documents) {
    const Shard& shard = shard_of(document.docid);
    count(shard, document.docid - shard.first_docid, buffers);
    add_relevant(shard, static_cast<double>(document.score), buffers);
    merge_if_many(parts, merged);
  }
  merge(parts);
  keep_greatest(parts, terms());
  Weights weights;
  double sum = 0;
  for (const Part& part : parts) sum += part.value;
  if (!(sum > 0)) return weights;
  const double share = expansion_.values[2], query_sum = sum_of(query);
  for (const QueryTerm& term : query) weights[term.term] = share * (term.weight / query_sum);
  for (const Part& part : parts) weights[part.term->text] += (1.0 - share) * (part.value / sum);
  return weights;
}

void QueryExpander::add_query(const Shard& shard, QueryView query, Buffers& buffers) const {
  for (const QueryTerm& term : query)
    if (const auto list = shard.engine->index().find(term.term))
      buffers.parts.push_back({&shard, list->number, 0, 0, nullptr, 0, true});
}

QueryExpander::Weights QueryExpander::bo1(QueryView query, std::span<const ScoredDocument> documents,
                                          Buffers& buffers) const {
  std::vector<Part>& parts = buffers.parts;
  const auto look_up = [&] {
    for (Part& part : parts)
      if (part.term == nullptr) part.term = &term(*part.shard, part.number, buffers.uncached);
  };
  std::set<const Shard*> shards;
  std::size_t merged = 0;
  for (const ScoredDocument& document : documents) {
    const Shard& shard = shard_of(document.docid);
    if (shards.insert(&shard).second) add_query(shard, query, buffers);
    count(shard, document.docid - shard.first_docid, buffers);
    for (const Count& count : buffers.counts)
      parts.push_back({&shard, count.number, static_cast<double>(count.freq), 0, nullptr, 1});
    if (shards.size() > 1) look_up();
    merge_if_many(parts, merged);
  }
  merge(parts);
  std::erase_if(
      parts, [&](const Part& part) { return part.documents < (documents.size() < 2 || part.is_of_query ? 1U : 2U); });
  look_up();
  for (Part& part : parts)
    // The greater one is cf, unless the index is damaged.
    part.value = bo1_weight(part.freq, std::max(part.term->cf, part.freq) / num_documents_);
  keep_greatest(parts, std::max(terms(), query.size()));
  Weights weights;
  if (parts.empty()) return weights;
  const double most = parts.front().freq;
  const double norm = bo1_weight(most, most / num_documents_);
  double most_in_query = 0;
  for (const QueryTerm& term : query) most_in_query = std::max(most_in_query, term.weight);
  for (const QueryTerm& term : query) weights[term.term] = term.weight / most_in_query;
  for (const Part& part : parts) weights[part.term->text] += part.value / norm;
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
  Buffers buffers(shards_.front()->engine->memory());
  const Weights weights = is_rm3 ? rm3(query, documents, buffers) : bo1(query, documents, buffers);
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
  batch.queries = ParsedQueries(std::move(expanded));
  return batch;
}

}  // namespace quern
