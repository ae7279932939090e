#include "quern/rerank/run_topics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_set>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {

TopicCollector::TopicCollector(const IndexReader& index, std::span<const Query> topics, std::string topics_name,
                               std::string run_name)
    : index_(index), topics_name_(std::move(topics_name)), run_name_(std::move(run_name)) {
  for (const Query& topic : topics) {
    const auto [known, is_new] = texts_.emplace(topic.id, topic.text);
    if (!is_new && known->second != topic.text)
      throw InvalidArgument(
          fmt::format("{}: topic {} has two texts; give each topic an id of its own", topics_name_, topic.id));
  }
}

TopicResults& TopicCollector::topic_of(std::string_view qid, std::uint64_t line) {
  const auto text = texts_.find(qid);
  if (text == texts_.end())
    throw InvalidArgument(fmt::format("{}: line {}: topic {} is not in {}; give the topics that the run was made with",
                                      run_name_, line, qid, topics_name_));
  const auto [place, is_new] = place_of_.emplace(text->first, results_.size());
  if (is_new) results_.push_back({std::string(qid), std::string(text->second), {}});
  return results_[place->second];
}

void TopicCollector::add(std::string_view qid, std::string_view docno, float score, std::uint64_t line) {
  TopicResults& topic = topic_of(qid, line);
  const auto docid = index_.find_docno(docno);
  if (!docid)
    throw InvalidArgument(fmt::format("{}: line {}: document '{}' is not in {}; is the run of another index?",
                                      run_name_, line, docno, index_.name()));
  if (!std::isfinite(score))
    throw InvalidArgument(fmt::format("{}: line {}: the score {} is no finite number", run_name_, line, score));
  topic.documents.push_back({*docid, score});
}

void TopicCollector::check_distinct(const TopicResults& topic) const {
  std::unordered_set<docid_t> met;
  for (const ScoredDocument& document : topic.documents)
    if (!met.insert(document.docid).second)
      throw InvalidArgument(
          fmt::format("{}: topic {} has document '{}' twice", run_name_, topic.qid, index_.docno(document.docid)));
}

std::vector<TopicResults> TopicCollector::finish() {
  for (const TopicResults& topic : results_) check_distinct(topic);
  return std::move(results_);
}

}  // namespace quern
