#include "quern/search/point_search.hpp"

#include <limits>

namespace quern {
namespace {

constexpr std::size_t lanes = PointSearch::max_points;

/// A number for each point.
struct alignas(64) PointValues {
  PointSearch::Values values = {};
  float& operator[](std::size_t i) { return values[i]; }
  float operator[](std::size_t i) const { return values[i]; }
};

/// Upper bounds are computed in another order than scores, and from rounded numbers: relative differences of their sums
/// are below this, with much to spare.
double bound_slack(std::size_t addends) { return 1e-5 + static_cast<double>(addends) * 0x1p-22; }

/// For each point, the lowest ratio of a document's K to the one with the index's own k1 and b.
std::array<double, lanes> least_ratios(std::span<const ScoringPoint> points, const IndexReader& index) {
  std::array<double, lanes> least = {};
  if (index.num_documents() == 0) return least;
  const double average = index.manifest().statistics.average_length();
  const auto [shortest, longest] = std::ranges::minmax_element(index.lengths());
  const auto ratio = [&](std::uint32_t length, const ScoringPoint& point) {
    const double own = document_constant(length, average, index.manifest().bm25);
    return own > 0 ? document_constant(length, average, point.bm25) / own : 0;
  };
  // The ratio is monotonic in the length, so it is least at one of the ends.
  for (std::size_t i = 0; i < points.size(); ++i)
    least[i] = std::min(ratio(*shortest, points[i]), ratio(*longest, points[i]));
  return least;
}

/// The best documents for each point, and the scores that others must reach.
class PointTops {
 public:
  /// `least`: scores that results of interest reach.
  PointTops(std::size_t points, std::size_t k, std::uint64_t candidates, const PointValues& least)
      : least_(least), tops_(points, TopK(k, candidates)) {}

  /// Returns whether the scores to reach have increased.
  bool add(docid_t docid, const PointValues& scores) {
    bool increased = false;
    for (std::size_t i = 0; i < tops_.size(); ++i) {
      if (scores[i] < least_[i]) continue;
      tops_[i].add(docid, scores[i]);
      if (!tops_[i].full() || tops_[i].worst().score <= least_[i]) continue;
      least_[i] = tops_[i].worst().score;
      increased = true;
    }
    return increased;
  }
  const PointValues& least() const { return least_; }
  std::vector<std::vector<ScoredDocument>> take() {
    std::vector<std::vector<ScoredDocument>> best;
    best.reserve(tops_.size());
    for (TopK& top : tops_) best.push_back(top.take());
    return best;
  }

 private:
  PointValues least_;
  std::vector<TopK> tops_;
};

}  // namespace

/// The union of a query's lists in a shard, document by document, scored for all points at once. It is MaxScore: only
/// documents in the first lists are looked at, without which no point's score can be reached; and of these only those
/// in enough lists.
class PointUnion {
 public:
  PointUnion(const PointSearch& search, const PointSearch::Shard& shard, QueryView query)
      : search_(search), shard_(shard), index_(shard.engine->index()) {
    bool all_found = false;
    lists_ = shard.engine->lists_of(query, all_found);
    weights_.resize(lists_.size());
    bounds_.resize(lists_.size());
    const std::optional<double> idf_sum = shard.engine->idf_sum_of_whole(query);
    for (std::size_t i = 0; i < search.points_.size(); ++i) weigh(i, idf_sum);
    sum_up_rests();
  }

  std::size_t lists() const { return lists_.size(); }
  std::uint64_t greatest_df() const {
    std::uint64_t greatest = 0;
    for (const WeightedList& list : lists_) greatest = std::max(greatest, list.list.df);
    return greatest;
  }
  std::uint64_t postings() const {
    std::uint64_t postings = 0;
    for (const WeightedList& list : lists_) postings += list.list.df;
    return postings;
  }

  /// Lowers `least` to the scores of these documents, which are ascending docIDs of the whole index, as far as a list
  /// contains them.
  void lower(std::span<const docid_t> wanted, PointValues& least) {
    open();
    PointValues scores;
    for (const docid_t docid : wanted) {
      if (docid < shard_.first_docid || docid - shard_.first_docid >= index_.num_documents()) continue;
      bool found = false;
      for (PostingCursor& cursor : cursors_) {
        cursor.next_geq(docid - shard_.first_docid);
        found |= cursor.docid() == docid - shard_.first_docid;
      }
      if (!found) continue;
      begin_score(docid - shard_.first_docid, scores);
      for (std::size_t i = 0; i < lists_.size(); ++i) add_term(i, scores);
      for (std::size_t i = 0; i < lanes; ++i) least[i] = std::min(least[i], scores[i]);
    }
  }

  /// Adds the documents to `tops`; returns how many there are if it is to look at `all`.
  std::uint64_t run(PointTops& tops, bool all) {
    open();
    essential_ = lists_.size();
    look_at_all_ = all;
    use_least(tops.least());
    std::uint64_t documents = 0, added = 0;
    bool increased = false;
    while (next_document()) {
      ++documents;
      if (passes() && score()) {
        increased |= tops.add(docid_ + shard_.first_docid, scores_);
        // Not for each document, since it takes a while.
        if (increased && ++added % documents_per_update == 0) {
          use_least(tops.least());
          increased = false;
        }
      }
      leave_document();
    }
    return documents;
  }

 private:
  static constexpr std::uint64_t documents_per_update = 32;
  /// Lists whose presence in a document is looked at before it is scored.
  static constexpr std::size_t max_masked = 8;
  enum class Passes : std::uint8_t { unknown, yes, no };

  void open() {
    cursors_.clear();
    for (const WeightedList& list : lists_) cursors_.emplace_back(index_, list.list);
  }

  void weigh(std::size_t point, std::optional<double> idf_sum) {
    ScoringOptions options = shard_.engine->options();
    options.bm25 = search_.points_[point].bm25;
    options.alpha = search_.points_[point].alpha;
    shard_.engine->set_weights(lists_, options, idf_sum);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      weights_[i][point] = lists_[i].weight;
      bounds_[i][point] = static_cast<float>(lists_[i].weight * impact_bound(lists_[i].list, point));
    }
  }

  /// An upper bound of the impacts of a list for a point. An impact is 1 / (1 + K / f): its maximum with the index's k1
  /// and b gives the least K / f. With other values,
  /// K / f is at least that times the point's least ratio.
  double impact_bound(const PostingList& list, std::size_t point) const {
    if (list.is_short() || !(list.max_impact > 0)) return 1;
    const double least = std::max(0.0, 1 / static_cast<double>(list.max_impact) - 1);
    return 1 / (1 + least * shard_.least_ratio[point]);
  }

  void sum_up_rests() {
    rests_.resize(lists_.size() + 1);
    for (std::size_t i = lists_.size(); i-- > 0;)
      for (std::size_t point = 0; point < lanes; ++point) rests_[i][point] = rests_[i + 1][point] + bounds_[i][point];
  }

  /// Prepares the decisions for these scores.
  void use_least(const PointValues& least) {
    const double share = 1 - bound_slack(lists_.size() + 1);
    for (std::size_t i = 0; i < lanes; ++i)
      to_reach_[i] = i < search_.points_.size() ? static_cast<float>(static_cast<double>(least[i]) * share)
                                                : std::numeric_limits<float>::infinity();
    if (!look_at_all_)
      while (essential_ > 0 && !can_reach(shard_.greatest_static_score, rests_[essential_ - 1])) --essential_;
    masked_ = std::min(essential_, max_masked);
    passing_.fill(Passes::unknown);
  }

  /// Whether for any point the sum may reach the score.
  bool can_reach(const PointSearch::Values& sums, const PointValues& rest) const {
    bool any = false;
    for (std::size_t i = 0; i < lanes; ++i) any |= sums[i] + rest[i] >= to_reach_[i];
    return any;
  }

  bool next_document() {
    docid_ = end_docid;
    for (std::size_t i = 0; i < essential_; ++i) docid_ = std::min(docid_, cursors_[i].docid());
    return docid_ != end_docid;
  }

  void leave_document() {
    for (std::size_t i = 0; i < essential_; ++i)
      if (cursors_[i].docid() == docid_) cursors_[i].next();
  }

  /// Whether a document in these of the first lists may be a result.
  bool passes() {
    std::size_t mask = 0;
    for (std::size_t i = 0; i < masked_; ++i) mask |= std::size_t{cursors_[i].docid() == docid_} << i;
    Passes& passes = passing_[mask];
    if (passes == Passes::unknown) {
      PointSearch::Values sums = shard_.greatest_static_score;
      for (std::size_t i = 0; i < masked_; ++i)
        for (std::size_t point = 0; (mask >> i & 1) != 0 && point < lanes; ++point) sums[point] += bounds_[i][point];
      passes = can_reach(sums, rests_[masked_]) ? Passes::yes : Passes::no;
    }
    return passes == Passes::yes;
  }

  /// Computes the document's scores; returns false once it can't be a result.
  bool score() {
    begin_score(docid_, scores_);
    for (std::size_t i = 0; i < essential_; ++i) add_term(i, scores_);
    for (std::size_t i = essential_; i < lists_.size(); ++i) {
      if (!can_reach(scores_.values, rests_[i])) return false;
      cursors_[i].next_geq(docid_);
      add_term(i, scores_);
    }
    return true;
  }

  void begin_score(docid_t docid, PointValues& scores) {
    docid_ = docid;
    const std::uint32_t length = index_.lengths()[docid];
    const double average = index_.manifest().statistics.average_length();
    for (std::size_t i = 0; i < lanes; ++i)
      constants_[i] = document_constant(length, average, {search_.k1_[i], search_.b_[i]});
    scores = {};
    if (shard_.engine->options().scorer != Scorer::bm25_pagerank) return;
    const float pagerank = index_.pagerank()[docid];
    for (std::size_t i = 0; i < lanes; ++i) scores[i] = search_.alpha_[i] * pagerank;
  }

  /// Adds the term scores of list i if it contains the document.
  void add_term(std::size_t i, PointValues& scores) {
    if (cursors_[i].docid() != docid_) return;
    const freq_t freq = cursors_[i].freq();
    const PointValues& weights = weights_[i];
    for (std::size_t point = 0; point < lanes; ++point)
      scores[point] += weights[point] * impact(freq, constants_[point]);
  }

  const PointSearch& search_;
  const PointSearch::Shard& shard_;
  const IndexReader& index_;
  // Of lists in the order of summation:
  std::vector<WeightedList> lists_;
  std::vector<PostingCursor> cursors_;
  std::vector<PointValues> weights_, bounds_;
  std::vector<PointValues> rests_;  ///< upper bounds of what list i and those after it add
  PointValues to_reach_;            ///< scores to reach, lowered by the slack of bounds
  std::size_t essential_ = 0;       ///< a result is in one of the lists before this one
  std::size_t masked_ = 0;          ///< of these, the lists that passes() looks at
  bool look_at_all_ = false;
  std::array<Passes, std::size_t{1} << max_masked> passing_ = {};
  // The current document:
  docid_t docid_ = 0;
  PointValues constants_, scores_;
};

PointSearch::PointSearch(std::vector<const QueryEngine*> engines, std::span<const ScoringPoint> points)
    : points_(points.begin(), points.end()) {
  check_range("points", points.size(), 1, max_points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    check_bm25(points[i].bm25);
    check_range("alpha", points[i].alpha, 0, 1);
    k1_[i] = points[i].bm25.k1;
    b_[i] = points[i].bm25.b;
    alpha_[i] = static_cast<float>(points[i].alpha);
  }
  for (const QueryEngine* engine : engines)
    shards_.push_back(
        describe(*engine, engines.size() == 1 ? 0 : static_cast<docid_t>(engine->index().manifest().docid_base)));
}

PointSearch::Shard PointSearch::describe(const QueryEngine& engine, docid_t first_docid) const {
  if (engine.quantizer())
    throw InvalidArgument("{}: quantized scores have fixed parameters; use {} exact", engine.index().name(),
                          option_name<"scores">);
  Shard shard{&engine, first_docid, least_ratios(points_, engine.index()), {}};
  if (engine.options().scorer != Scorer::bm25_pagerank || engine.index().num_documents() == 0) return shard;
  const float greatest = *std::ranges::max_element(engine.index().pagerank());
  for (std::size_t i = 0; i < points_.size(); ++i) shard.greatest_static_score[i] = alpha_[i] * greatest;
  return shard;
}

PointSearch::Results PointSearch::search(QueryView query, std::span<const docid_t> wanted, std::size_t k) const {
  check_range("k", k, 1, end_docid);
  QueryMemory::Claim claim(shards_.front().engine->memory());
  claim.raise_to(query.size() * shards_.size() * (query_list_bytes + 4 * sizeof(PointValues)));
  std::vector<PointUnion> unions;
  unions.reserve(shards_.size());
  std::uint64_t greatest_df = 0, postings = 0;
  for (const Shard& shard : shards_) {
    unions.emplace_back(*this, shard, query);
    greatest_df += unions.back().greatest_df();
    postings += unions.back().postings();
  }
  PointValues least;
  least.values.fill(std::numeric_limits<float>::infinity());
  for (PointUnion& shard : unions) shard.lower(wanted, least);
  claim.raise_to(query.size() * shards_.size() * (query_list_bytes + 4 * sizeof(PointValues)) +
                 points_.size() * TopK::bytes(k, postings));
  PointTops tops(points_.size(), k, postings, least);
  // If no list is as long as k, the results must be counted.
  const bool counts = greatest_df < k;
  std::uint64_t documents = 0;
  for (PointUnion& shard : unions) documents += shard.run(tops, counts);
  return {counts ? std::min<std::uint64_t>(documents, k) : k, tops.take()};
}

}  // namespace quern
