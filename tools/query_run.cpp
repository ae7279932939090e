#include "query_run.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace quern::tools {
namespace {

/// Whether the thread that answers a query also turns all results into text.
bool is_short(const QueryAnswer& answer) { return answer.documents.size() <= ResultText::max_results; }

}  // namespace

void QueryRun::begin() {
  std::string text;
  parts_.format.begin(text);
  parts_.out.write(text);
}

void QueryRun::end() {
  std::string text;
  parts_.format.end(text);
  parts_.out.write(text);
}

ParsedQueries QueryRun::read(const std::vector<Query>& queries) const {
  return parts_.reader.read(texts_of(queries), parts_.resources.threads);
}

void QueryRun::answer(const std::vector<Query>& queries) {
  const ParsedQueries read_queries = read(queries);
  SearchRequest request = parts_.request;
  request.queries = read_queries.views();
  run(parts_.backend, request, consumer(queries));
}

void QueryRun::answer(QueryStream& stream, std::size_t max_begun,
                      const std::function<void(const std::vector<Query>& queries)>& note) {
  struct Begun {
    ParsedQueries queries;
    std::unique_ptr<PendingSearch> search;
  };
  answer_stream<Begun>(
      stream, max_begun,
      [&](const std::vector<Query>& queries) {
        Begun begun{read(queries), nullptr};
        SearchRequest request = parts_.request;
        request.queries = begun.queries.views();
        request.others_arrive = true;
        begun.search = parts_.backend.begin(request);
        return begun;
      },
      [&](StreamBatch<Begun>& batch) {
        note(batch.queries);
        parts_.backend.finish(*batch.begun.search, consumer(batch.queries));
        parts_.out.show();
      });
}

AnswerConsumer QueryRun::consumer(const std::vector<Query>& queries) {
  AnswerConsumer consumer;
  consumer.threads = parts_.resources.threads;
  consumer.held_bytes = held_bytes(parts_.resources);
  consumer.render = [&](std::size_t i, QueryAnswer& answer) {
    if (parts_.second_stage != nullptr)
      answer.time_us += parts_.second_stage->rerank(queries[i].text, answer.documents, parts_.k);
    if (is_short(answer))
      parts_.result_text.write(queries[i], answer.documents, [&](std::string text) { answer.text = std::move(text); });
    parts_.shards.note_query();
  };
  consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
    if (is_short(answer)) {
      parts_.out.write(answer.text);
    } else {
      write_long(queries[i], answer.documents);
    }
    statistics_.add(answer);
    parts_.resources.progress->add(1);
  };
  return consumer;
}

void QueryRun::write_long(const Query& query, std::span<const ScoredDocument> documents) {
  // The text of many results takes more memory than they do: a piece is written before the next is made.
  parts_.result_text.write(query, documents, [&](const std::string& text) {
    parts_.out.write(text);
    parts_.shards.note_query();
  });
}

ArrivingQueries::ArrivingQueries(const QuerySource& source, const CommonOptions& options, std::size_t batch_queries,
                                 unsigned wait_ms, std::uint64_t memory_bytes)
    : stream_(source.file, source_name(source.file), source.format, batch_queries, std::chrono::milliseconds(wait_ms),
              memory_bytes),
      remarks_(options, source.format) {}

void ArrivingQueries::look_at(const std::vector<Query>& batch) {
  for (const Query& query : batch) {
    remarks_.look_at(query.text);
    remarks_.look_at_id(query.id);
  }
}

}  // namespace quern::tools
