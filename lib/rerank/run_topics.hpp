#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/query/top_k.hpp"

namespace quern {

/// A topic's results in a run, with the topic's text.
struct TopicResults {
  std::string qid;
  std::string text;
  std::vector<ScoredDocument> documents;  ///< in the run's order
};

/// Brings the lines of a run together with the texts of their topics.
class TopicCollector {
 public:
  /// `topics_name` and `run_name` are what messages call the files. Index and topics must stay. Throws InvalidArgument
  /// if a topic has two texts.
  TopicCollector(const IndexReader& index, std::span<const Query> topics, std::string topics_name,
                 std::string run_name);

  /// The next line of the run, with its number there. Throws InvalidArgument if the topic has no text or the document
  /// is not in the index.
  void add(std::string_view qid, std::string_view docno, float score, std::uint64_t line);
  /// The topics, in the order in which the run first names them. Throws InvalidArgument if a topic has a document
  /// twice. To be called once.
  std::vector<TopicResults> finish();

 private:
  TopicResults& topic_of(std::string_view qid, std::uint64_t line);
  void check_distinct(const TopicResults& topic) const;

  const IndexReader& index_;
  std::string topics_name_, run_name_;
  std::unordered_map<std::string_view, std::string_view> texts_;  ///< of the topics, by id
  std::unordered_map<std::string_view, std::size_t> place_of_;    ///< in results_, by id
  std::vector<TopicResults> results_;
};

}  // namespace quern
