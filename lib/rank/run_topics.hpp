#pragma once
#include "quern/formats/index_shards.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/top_k.hpp"

namespace quern {

/// A topic's results in a run, with the topic's text.
struct TopicResults {
  std::string qid;
  std::string text;
  std::vector<ScoredDocument> documents;      ///< in the run's order
  std::vector<std::int32_t> relevances = {};  ///< of the documents, 0 if not judged; empty without judgements
  std::uint32_t model = 0;                    ///< that reranks it

  /// What it takes in memory.
  std::uint64_t bytes() const {
    return sizeof(TopicResults) + qid.size() + text.size() + documents.size() * sizeof(ScoredDocument) +
           relevances.size() * sizeof(std::int32_t);
  }
};

/// Brings the lines of a run together with the texts of their topics, and with judgements. All three may be of any
/// size and in any order: texts and lines wait in work files. Ranges of neighbouring lines of one topic are sorted,
/// which are as few as topics if the run is grouped by topic. One topic at a time is in memory.
class RunTopics {
 public:
  /// What messages call the files.
  struct Names {
    std::string topics, run, judgements;
  };

  /// `index` and `pages` must outlive the object.
  RunTopics(const IndexShards& index, IndexPages& pages, Names names, const Resources& resources);

  /// A topic, as the file of topics has it.
  void add_topic(std::string_view id, std::string_view text);
  /// The next line of the run, with its number there. Throws InvalidArgument if the document is not in the index or the
  /// score is not finite, CorruptFile for a name with a zero byte.
  void add_line(const RunLineText& line, std::uint64_t number);
  /// The next line of the judgements, with its number there.
  void add_judgement(const JudgementLine& line, std::uint64_t number);
  /// Call once, after all lines: joins the files, and returns the run's number of topics. Throws InvalidArgument if a
  /// topic has two texts, or one in the run has none.
  std::uint64_t join();

  /// Calls visit(topic) for the topics in the order in which the run first names them. Call once, after join().
  /// Throws InvalidArgument if a topic has a document twice or does not fit in the memory, CorruptFile if a document is
  /// judged twice.
  void for_each(const std::function<void(TopicResults)>& visit);

 private:
  struct Judged {
    docid_t docid;
    std::int32_t relevance;
    std::uint64_t line;
  };
  /// Neighbouring lines of one topic.
  struct LineRange {
    std::string qid;
    std::uint64_t line = 0;  ///< of the first
    std::uint64_t first = 0, count = 0;
  };
  class Join;
  class Visits;

  void add_to(LineRange& range, std::string_view qid, std::uint64_t line, std::uint64_t place, char kind);
  void end_range(LineRange& range, char kind);
  std::string text_at(std::uint64_t first, std::uint64_t count) const;

  const IndexShards& index_;
  IndexPages& pages_;
  Names names_;
  std::uint64_t memory_bytes_;
  Spool texts_;
  RecordSpool<ScoredDocument> results_;
  RecordSpool<Judged> judged_;
  bool has_judgements_;
  LineRange run_range_, judgement_range_;
  std::uint64_t num_texts_ = 0;
  ExternalSort by_qid_;
  ExternalSort by_line_;
};

struct RerankReport {
  std::uint64_t documents = 0;  ///< that were given a score
  double seconds = 0;
};

/// Reranks all topics, in parallel, and leaves the k best documents of each; threads share the documents of a topic
/// that has many. Throws like Reranker::rerank().
RerankReport rerank_topics(const Reranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources);

}  // namespace quern
