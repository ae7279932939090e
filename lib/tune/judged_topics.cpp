#include "quern/tune/judged_topics.hpp"

#include <map>

#include "quern/eval/run_rows.hpp"

namespace quern {
namespace {

/// Takes the judgements sorted by query and docno.
class TopicJoin {
 public:
  TopicJoin(std::span<const TuningTopic> topics, const std::function<bool(QueryView)>& has_results,
            const IndexShards& index, bool complete, const Resources& resources)
      : has_results_(has_results), index_(index), complete_(complete), max_bytes_(resources.memory_bytes / 16) {
    for (const TuningTopic& topic : topics)
      if (!topics_.emplace(topic.qid, topic.query).second)
        throw InvalidArgument("two topics have the id {}; give each its own", topic.qid);
    joined_.unjudged = topics_.size();
    if (!topics.empty()) first_topic_ = topics.front().qid;
  }

  void take(const RunRows::Row& row) {
    if (row.begins_query) {
      end_query();
      qid_.assign(row.qid);
      if (first_qid_.empty()) first_qid_ = qid_;
    }
    const std::int32_t relevance = relevance_of_judgement(row.value);
    topic_.judged.push_back(relevance);
    if (const auto docid = find(row.docno)) documents_.emplace_back(*docid, relevance);
    bytes_ += bytes_per_judgement;
    if (bytes_ > max_bytes_)
      throw InvalidArgument("the judgements don't fit in the memory; raise {}", option_name<"memory">);
  }

  JudgedTopics finish(const std::string& qrels_name) {
    end_query();
    if (topics_.empty()) throw InvalidArgument("no topics were given; name a file of queries");
    if (first_qid_.empty())
      throw InvalidArgument("{} has no judgements; name the judgements of the topics", qrels_name);
    if (joined_.unjudged == topics_.size())
      throw InvalidArgument(
          "the topics and {} have no query in common: the first topic is {}, the judgements begin with query {}; name "
          "the judgements of the topics",
          qrels_name, first_topic_, first_qid_);
    if (joined_.topics.empty())
      throw InvalidArgument(
          "no judged query has results: the index has none of their terms; name the topics of "
          "this index");
    return std::move(joined_);
  }

 private:
  /// Three numbers, in vectors that grow.
  static constexpr std::uint64_t bytes_per_judgement = 24;

  std::optional<docid_t> find(std::string_view docno) const {
    std::optional<docid_t> found;
    for (std::size_t shard = 0; shard < index_.size(); ++shard)
      index_[shard].for_each_of_docno(docno, [&](docid_t docid) {
        if (found)
          throw InvalidArgument(
              "{}: two documents have the docno {}, so results can't be judged; index them with "
              "docnos of their own",
              index_.name(), docno);
        found = index_.first_docid(shard) + docid;
      });
    return found;
  }

  void end_query() {
    if (topic_.judged.empty()) return;
    const auto query = topics_.find(qid_);
    if (query != topics_.end()) {
      --joined_.unjudged;
      topic_.qid = query->first;
      topic_.query = query->second;
    }
    const bool has_results = query != topics_.end() && has_results_(topic_.query);
    joined_.without_results += !has_results;
    if (has_results || complete_) keep();
    topic_ = {};
    documents_.clear();
  }

  void keep() {
    std::sort(topic_.judged.begin(), topic_.judged.end(), std::greater<>());
    std::sort(documents_.begin(), documents_.end());
    for (const auto& [docid, relevance] : documents_) {
      topic_.docids.push_back(docid);
      topic_.relevance.push_back(relevance);
    }
    joined_.topics.push_back(std::move(topic_));
  }

  std::map<std::string_view, QueryView> topics_;
  const std::function<bool(QueryView)>& has_results_;
  const IndexShards& index_;
  const bool complete_;
  std::uint64_t bytes_ = 0, max_bytes_;
  JudgedTopics joined_;
  std::string first_topic_, first_qid_;
  // The current query:
  std::string qid_;
  JudgedTopic topic_;
  std::vector<std::pair<docid_t, std::int32_t>> documents_;
};

/// The relevances of a point's results by rank. Of equal scores, the larger docno comes first, as RunEvaluator has it.
void rank(const JudgedTopic& topic, std::span<const ScoredDocument> best, const IndexShards& index,
          std::span<std::int32_t> relevances) {
  std::vector<std::pair<std::string_view, std::int32_t>> equal;
  for (std::size_t begin = 0, end = 0; begin < best.size(); begin = end) {
    bool some_judged = false;
    for (end = begin; end < best.size() && best[end].score == best[begin].score; ++end) {
      relevances[end] = topic.relevance_of(best[end].docid);
      some_judged |= relevances[end] != not_judged;
    }
    if (end - begin == 1 || !some_judged) continue;
    equal.clear();
    for (std::size_t i = begin; i < end; ++i) equal.emplace_back(index.docno(best[i].docid), relevances[i]);
    std::sort(equal.begin(), equal.end(), std::greater<>());
    for (std::size_t i = begin; i < end; ++i) relevances[i] = equal[i - begin].second;
  }
}

}  // namespace

std::int32_t JudgedTopic::relevance_of(docid_t docid) const {
  const auto found = std::lower_bound(docids.begin(), docids.end(), docid);
  return found == docids.end() || *found != docid ? not_judged
                                                  : relevance[static_cast<std::size_t>(found - docids.begin())];
}

JudgedTopics join_topics(std::span<const TuningTopic> topics, const std::function<bool(QueryView)>& has_results,
                         ByteSource& qrels, const IndexShards& index, bool complete, const Resources& resources) {
  TopicJoin join(topics, has_results, index, complete, resources);
  RunRows rows(resources);
  rows.read_judgements(qrels);
  rows.merge([&](const RunRows::Row& row) { join.take(row); });
  return join.finish(qrels.name());
}

std::vector<double> measure_topic(const JudgedTopic& topic, const PointSearch::Results& results,
                                  const IndexShards& index, const TopicMeasure& measure) {
  std::vector<double> values;
  std::vector<std::int32_t> relevances;
  for (const std::vector<ScoredDocument>& best : results.best) {
    relevances.assign(results.count, not_judged);
    rank(topic, best, index, relevances);
    const std::span<const std::int32_t> ranked(relevances.data(), std::min(results.count, measure.depth));
    values.push_back(
        measure.measure.value(judged_ranking(ranked, topic.judged, measure.relevance_level, measure.version)));
  }
  return values;
}

}  // namespace quern
