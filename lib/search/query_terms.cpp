#include "quern/search/query_terms.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <array>
#include <cmath>
#include <iterator>

#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Queries that a thread reads at a time.
constexpr std::size_t queries_per_reading = 64;

[[noreturn]] void refuse_weight(const QueryTerm& term, std::string_view why) {
  throw InvalidArgument("the weight {} of the query's term {} {}", term.weight, quoted_start(term.term), why);
}

void check_weight(const QueryTerm& term, double min) {
  if (!(term.weight >= min && term.weight <= max_query_weight))
    refuse_weight(term, fmt::format("is outside {} to {}; scale the query, or drop the term", min_query_weight,
                                    max_query_weight));
}

/// Sorts terms and adds up the weights of repeated ones, in an order that is independent of the input's.
void merge_repeated(QueryTerms& terms) {
  std::sort(terms.begin(), terms.end(), [](const QueryTerm& a, const QueryTerm& b) {
    return a.term != b.term ? a.term < b.term : a.weight < b.weight;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (kept > 0 && terms[kept - 1].term == terms[i].term)
      terms[kept - 1].weight += terms[i].weight;
    else if (kept++ != i)
      terms[kept - 1] = std::move(terms[i]);
  terms.resize(kept);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/// Two quotation marks with something between them.
bool has_phrase(std::string_view text) {
  const std::size_t first = text.find('"');
  if (first == text.npos) return false;
  const std::size_t second = text.find('"', first + 1);
  return second != text.npos && second > first + 1;
}

/// "title:mill", but neither "http://" nor "12:30".
bool is_field(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == word.npos || colon == 0 || colon + 1 == word.size() || word[colon + 1] == '/') return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return is_letter(c) || c == '_'; });
}

/// "+water", "-wind", "mil*", "mill~", "mill^2", but neither "a - b" nor "well-known" nor "1-2".
bool has_mark(std::string_view word) {
  if (word.size() < 2) return false;
  if ((word[0] == '+' || word[0] == '-') && is_letter(word[1])) return true;
  const std::size_t mark = word.find_first_of("*~^", 1);
  return mark != word.npos && is_letter(word[mark - 1]) && (word[mark] == '^' || mark + 1 == word.size());
}

}  // namespace

QueryTerms terms_of_text(std::string_view text, Analyzer& analyzer) {
  std::vector<std::string> words = analyzer.terms(text);
  std::sort(words.begin(), words.end());
  QueryTerms terms;
  terms.reserve(words.size());
  for (std::string& word : words)
    if (!terms.empty() && terms.back().term == word)
      terms.back().weight += 1;
    else
      terms.push_back({std::move(word), 1});
  return terms;
}

std::string text_of_terms(QueryView query) {
  std::string text;
  for (const QueryTerm& term : query) text += (text.empty() ? "" : " ") + term.term;
  return text;
}

QueryReader::QueryReader(const AnalyzerOptions& analyzer, QueryKind kind, std::optional<QueryWeights> weights,
                         const QueryMemory* memory)
    : kind_(kind),
      weights_(weights),
      memory_(memory),
      analyzers_([analyzer] { return std::unique_ptr<Analyzer>(new Analyzer(analyzer)); }) {}

double QueryReader::usable(const QueryTerm& term) const {
  check_weight(term, min_query_weight);
  if (!weights_->whole) return term.weight;
  const double weight = weights_->scale ? std::max(1.0, std::floor(term.weight * *weights_->scale + 0.5)) : term.weight;
  if (weight != std::floor(weight))
    refuse_weight(
        term, fmt::format("is not a whole number, which integer scores require; use {}", option_name<"query-scale">));
  if (weight >= max_exact_sum)
    refuse_weight(term, fmt::format("is too large: scores must stay below {}", max_exact_sum));
  return weight;
}

QueryTerms QueryReader::use(QueryTerms terms) const {
  for (const QueryTerm& term : terms) check_weight(term, 0);
  merge_repeated(terms);
  std::erase_if(terms, [](const QueryTerm& term) { return term.weight == 0; });
  for (QueryTerm& term : terms) term.weight = weights_ ? usable(term) : 1;
  return terms;
}

QueryTerms QueryReader::read(std::string_view text, Analyzer& analyzer) const {
  std::optional<QueryMemory::Claim> claim;
  if (memory_ != nullptr) claim.emplace(*memory_).raise_to_words_of(text);
  if (kind_ == QueryKind::vector) return use(parse_query_vector(text, "the query"));
  return terms_of_text(text, analyzer);
}

ParsedQueries QueryReader::read(std::span<const std::string_view> texts, unsigned threads) const {
  return read(texts.size(), threads, [&](std::size_t i, Analyzer& analyzer) { return read(texts[i], analyzer); });
}

ParsedQueries QueryReader::read(std::size_t count, unsigned threads,
                                const std::function<QueryTerms(std::size_t, Analyzer&)>& read_one) const {
  const std::size_t parts = (count + queries_per_reading - 1) / queries_per_reading;
  std::vector<QueryTerms> terms(parts);
  std::vector<QueryView> views(count);
  // With an analyzer and an array for each query, threads would mostly wait for locks of the pool and of memory.
  const auto read_part = [&](std::size_t part) {
    const auto own = analyzer();
    const std::size_t first = part * queries_per_reading, queries = std::min(queries_per_reading, count - first);
    QueryTerms all;
    std::array<std::size_t, queries_per_reading> ends{};
    for (std::size_t i = 0; i < queries; ++i) {
      std::ranges::move(read_one(first + i, *own), std::back_inserter(all));
      ends[i] = all.size();
    }
    terms[part] = std::move(all);
    for (std::size_t i = 0, begin = 0; i < queries; begin = ends[i++])
      views[first + i] = QueryView(terms[part]).subspan(begin, ends[i] - begin);
  };
  // Waking other threads takes longer than reading a few queries.
  if (parts == 1)
    read_part(0);
  else
    on_threads(threads, [&] { tbb::parallel_for(std::size_t{0}, parts, read_part); });
  return ParsedQueries(std::move(terms), std::move(views));
}

QuerySyntax syntax_in(std::string_view text) {
  QuerySyntax syntax;
  syntax.phrase = has_phrase(text);
  const bool in_capitals = std::none_of(text.begin(), text.end(), is_small);
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = from;
    while (end < text.size() && !is_ascii_space(text[end])) ++end;
    const std::string_view word = text.substr(from, end - from);
    syntax.operators |= !in_capitals && (word == "AND" || word == "OR" || word == "NOT");
    syntax.field |= is_field(word);
    syntax.marks |= has_mark(word);
    from = end + 1;
  }
  return syntax;
}

}  // namespace quern
