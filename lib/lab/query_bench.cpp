#include "quern/lab/query_bench.hpp"

#include <fmt/format.h>

#include <bit>
#include <deque>
#include <map>
#include <tuple>

#include "quern/lab/measuring.hpp"
#include "quern/plan/cost_model.hpp"

namespace quern {
namespace {

using Texts = std::span<const std::string_view>;

/// Queries between two progress reports.
constexpr std::size_t progress_step = 64;

/// The answers of the baselines, one query at a time.
class ExpectedAnswers {
 public:
  explicit ExpectedAnswers(std::span<const QuerySetUp> set_ups) {
    for (const QuerySetUp& set_up : set_ups) backends_.try_emplace(set_up.family, set_up.backend);
  }

  void start_query() { answers_.clear(); }

  const std::vector<ScoredDocument>& answer(const QuerySetUp& set_up, QueryView query) {
    return answer(set_up.family, set_up.k, set_up.algorithm->matching, query);
  }

 private:
  using Key = std::tuple<std::size_t, std::size_t, Matching>;

  const std::vector<ScoredDocument>& answer(std::size_t family, std::size_t k, Matching matching, QueryView query) {
    if (matching == Matching::all_else_any) {
      const auto& all = answer(family, k, Matching::all, query);
      return all.size() == k ? all : answer(family, k, Matching::any, query);
    }
    const auto [place, is_new] = answers_.try_emplace(Key{family, k, matching});
    if (is_new) {
      const QueryAlgorithm& baseline = algorithm_named(matching == Matching::all ? "and" : "or");
      place->second = backends_.at(family)->search(query, baseline, k);
    }
    return place->second;
  }

  std::map<std::size_t, const CpuBackend*> backends_;
  std::map<Key, std::vector<ScoredDocument>> answers_;
};

/// One set-up and its measurements.
class QuerySubject {
 public:
  QuerySubject(const QuerySetUp& set_up, Texts texts, const QueryBenchOptions& options)
      : set_up_(set_up),
        texts_(texts),
        reader_(set_up.backend->engines().front()->reader(options.kind)),
        queries_(reader_.read(texts, options.threads)),
        times_us_(texts.size()) {
    for (auto& times : times_us_) times.reserve(options.repeats);
    // All lists of a query, whatever the algorithm reads of them.
    lists_.reserve(texts.size());
    for (const QueryView query : queries_.views())
      lists_.push_back(features_of(set_up.backend->engines(), query, Matching::any));
  }

  bool finds_terms() const {
    return std::any_of(lists_.begin(), lists_.end(), [](const QueryFeatures& lists) { return lists.terms != 0; });
  }

  void check(std::size_t query, ExpectedAnswers& expected) {
    const auto found = set_up_.backend->search(queries_.views()[query], *set_up_.algorithm, set_up_.k, &counts_);
    if (const auto what = difference(expected.answer(set_up_, queries_.views()[query]), found))
      throw Error("{}: {} with k = {} answers \"{}\" wrongly: {}; nothing was measured", set_up_.index->name(),
                  set_up_.algorithm->name, set_up_.k, texts_[query], *what);
  }

  void warm_up() {
    for (const std::string_view text : texts_) search(text);
  }

  void measure() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto begun = WallClock::now();
      search(texts_[i]);
      times_us_[i].push_back(us_since(begun));
    }
  }

  void measure_batch(unsigned threads) {
    const auto begun = WallClock::now();
    const ParsedQueries queries = reader_.read(texts_, threads);
    run(*set_up_.backend, {queries.views(), set_up_.algorithm, set_up_.k},
        {{}, [](std::size_t, const QueryAnswer&) {}, threads});
    batch_seconds_[threads].push_back(seconds_since(begun));
  }

  /// Each query's time, and features to predict it from.
  std::vector<MeasuredQuery> each_query() {
    std::vector<MeasuredQuery> each;
    each.reserve(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i)
      each.push_back({median(times_us_[i]),
                      features_of(set_up_.backend->engines(), queries_.views()[i], set_up_.algorithm->matching)});
    return each;
  }

  QueryFigures figures() const {
    QueryFigures figures;
    figures.set_up = set_up_;
    figures.queries = texts_.size();
    figures.counts = counts_;
    std::vector<double> all;
    std::array<std::vector<double>, first_long_length + 1> by_length;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      all.push_back(median(times_us_[i]));
      by_length[length_row(lists_[i].terms)].push_back(all.back());
      figures.postings += lists_[i].postings;
      figures.blocks += lists_[i].blocks;
    }
    figures.times = summarize(std::move(all));
    for (std::size_t terms = 0; terms < by_length.size(); ++terms)
      if (!by_length[terms].empty())
        figures.by_length.push_back({terms, by_length[terms].size(), summarize(by_length[terms])});
    for (const auto& [threads, seconds] : batch_seconds_) figures.batches.push_back({threads, median(seconds)});
    return figures;
  }

 private:
  /// From the text on.
  void search(std::string_view text) {
    const auto documents = set_up_.backend->search(reader_.read(text), *set_up_.algorithm, set_up_.k);
    keep(documents.data());
  }

  QuerySetUp set_up_;
  Texts texts_;
  QueryReader reader_;
  ParsedQueries queries_;
  std::vector<QueryFeatures> lists_;
  std::vector<std::vector<double>> times_us_;  ///< by query and repeat
  std::map<unsigned, std::vector<double>> batch_seconds_;
  QueryStatistics counts_;
};

void check_answers(std::deque<QuerySubject>& subjects, std::span<const QuerySetUp> set_ups, Texts texts,
                   Progress& progress) {
  progress.start("check answers", texts.size(), "queries");
  ExpectedAnswers expected(set_ups);
  for (std::size_t query = 0; query < texts.size(); ++query) {
    expected.start_query();
    for (QuerySubject& subject : subjects) subject.check(query, expected);
    if ((query + 1) % progress_step == 0) progress.add(progress_step);
  }
  progress.finish();
}

}  // namespace

std::optional<std::string> difference(std::span<const ScoredDocument> expected, std::span<const ScoredDocument> found) {
  const auto text = [](const ScoredDocument& document) {
    return fmt::format("document {} with score {}", document.docid, document.score);
  };
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i)
    if (expected[i].docid != found[i].docid ||
        std::bit_cast<std::uint32_t>(expected[i].score) != std::bit_cast<std::uint32_t>(found[i].score))
      return fmt::format("at rank {} {}, not {}", i + 1, text(found[i]), text(expected[i]));
  if (expected.size() != found.size()) return fmt::format("{} results, not {}", found.size(), expected.size());
  return {};
}

std::vector<QueryFigures> measure_queries(Texts texts, std::span<const QuerySetUp> set_ups,
                                          const QueryBenchOptions& options, Progress& progress) {
  if (texts.empty() || set_ups.empty() || options.repeats == 0)
    throw InvalidArgument("a benchmark needs queries, algorithms and repeats");
  std::deque<QuerySubject> subjects;  // a deque, because readers cannot move
  for (const QuerySetUp& set_up : set_ups) {
    subjects.emplace_back(set_up, texts, options);
    if (!subjects.back().finds_terms())
      throw InvalidArgument("{}: none of the terms of the {} queries is in this index; use queries for its collection",
                            set_up.index->name(), texts.size());
  }
  check_answers(subjects, set_ups, texts, progress);
  progress.start("measure", std::uint64_t{options.warm_up + options.repeats} * subjects.size() * texts.size(),
                 "queries");
  for (unsigned i = 0; i < options.warm_up; ++i)
    for (QuerySubject& subject : subjects) {
      subject.warm_up();
      progress.add(texts.size());
    }
  take_turns(subjects, options.repeats, [&](QuerySubject& subject) {
    subject.measure();
    if (options.threads > 1) {
      subject.measure_batch(1);
      subject.measure_batch(options.threads);
    }
    progress.add(texts.size());
  });
  progress.finish();
  std::vector<QueryFigures> figures;
  for (QuerySubject& subject : subjects) {
    figures.push_back(subject.figures());
    if (options.each_query) figures.back().each_query = subject.each_query();
  }
  return figures;
}

namespace {

using Queries = std::span<const QueryView>;

/// One method, and its measurements.
class IntersectionSubject {
 public:
  IntersectionSubject(const Intersection& intersection, Queries queries)
      : intersection_(intersection), queries_(queries), samples_(queries.size()) {}

  const std::vector<docid_t>& documents(std::size_t query) {
    intersection_.answer(queries_[query], space_, answer_);
    return answer_.documents;
  }

  void check(std::size_t query, const std::vector<docid_t>& expected) {
    if (documents(query) != expected) {
      throw Error("{}: {} finds different documents for \"{}\" than the first method; nothing was measured",
                  intersection_.index().name(), intersection_.method().name, text_of_terms(queries_[query]));
    }
    counts_ += answer_.statistics.counts;
    results_ += expected.size();
  }

  /// Whether no checked query had postings to intersect.
  bool reads_nothing() const { return counts_.postings == 0; }

  void measure() {
    for (std::size_t query = 0; query < queries_.size(); ++query) {
      intersection_.answer(queries_[query], space_, answer_);
      samples_[query].whole.push_back(answer_.statistics.time_us);
      samples_[query].decode.push_back(answer_.statistics.decode_us);
      samples_[query].intersect.push_back(answer_.statistics.intersect_us);
    }
  }

  IntersectionFigures figures() const {
    IntersectionFigures figures;
    figures.intersection = &intersection_;
    figures.queries = queries_.size();
    figures.results = results_;
    figures.counts = counts_;
    std::vector<double> times;
    for (const Samples& samples : samples_) {
      times.push_back(median(samples.whole));
      figures.decode_us += median(samples.decode);
      figures.intersect_us += median(samples.intersect);
    }
    figures.times = summarize(std::move(times));
    return figures;
  }

 private:
  /// A query's times in each repeat.
  struct Samples {
    std::vector<double> whole, decode, intersect;
  };

  const Intersection& intersection_;
  Intersection::WorkSpace space_;
  Queries queries_;
  IntersectionAnswer answer_;
  std::vector<Samples> samples_;
  QueryStatistics counts_;
  std::uint64_t results_ = 0;
};

}  // namespace

std::vector<IntersectionFigures> measure_intersections(Queries queries, std::span<const Intersection> intersections,
                                                       unsigned repeats, Progress& progress) {
  if (queries.empty() || intersections.empty() || repeats == 0)
    throw InvalidArgument("a benchmark needs queries, methods and repeats");
  std::deque<IntersectionSubject> subjects;
  for (const Intersection& intersection : intersections) subjects.emplace_back(intersection, queries);
  // This warms up as well.
  for (std::size_t query = 0; query < queries.size(); ++query) {
    const std::vector<docid_t> expected = subjects.front().documents(query);
    for (IntersectionSubject& subject : subjects) subject.check(query, expected);
  }
  if (subjects.front().reads_nothing())
    throw InvalidArgument(
        "{}: none of the {} queries has all of its terms in this index, so there is nothing to intersect; "
        "use queries for its collection",
        intersections.front().index().name(), queries.size());
  return measure_in_turns(subjects, repeats, progress);
}

}  // namespace quern
