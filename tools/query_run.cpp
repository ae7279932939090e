#include "query_run.hpp"

#include <exception>
#include <thread>

#include "quern/search/batch_collector.hpp"

namespace quern::tools {
namespace {

/// Whether the thread that answers a query also turns all results into text.
bool is_short(const QueryAnswer& answer) { return answer.documents.size() <= ResultText::max_results; }

}  // namespace

ParsedQueries QueryRun::read(const std::vector<Query>& queries) const {
  return parts_.reader.read(texts_of(queries), parts_.resources.threads);
}

void QueryRun::answer(const std::vector<Query>& queries) {
  const ParsedQueries read_queries = read(queries);
  SearchRequest request = parts_.request;
  request.queries = read_queries.views();
  run(parts_.backend, request, consumer(queries));
}

struct QueryRun::Batch {
  std::vector<Query> queries;
  ParsedQueries parsed;
  std::unique_ptr<PendingSearch> search = nullptr;
};

std::unique_ptr<QueryRun::Batch> QueryRun::begin(std::vector<Query> queries) {
  ParsedQueries parsed = read(queries);
  auto batch = std::make_unique<Batch>(Batch{std::move(queries), std::move(parsed)});
  SearchRequest request = parts_.request;
  request.queries = batch->parsed.views();
  request.others_arrive = true;
  batch->search = parts_.backend.begin(request);
  return batch;
}

void QueryRun::answer(QueryStream& stream, std::size_t max_begun,
                      const std::function<void(const std::vector<Query>& queries)>& note) {
  using BegunBatches = BatchCollector<std::unique_ptr<Batch>>;
  // It holds twice as many as it hands over at a time.
  BegunBatches begun(std::max<std::size_t>(1, max_begun / 2), BegunBatches::Clock::duration(0));
  std::exception_ptr error;
  std::jthread reader([&] {
    try {
      for (std::vector<Query> queries = stream.next(); !queries.empty(); queries = stream.next())
        if (!begun.push(begin(std::move(queries)))) break;
    } catch (...) {
      error = std::current_exception();
    }
    begun.finish();
  });
  try {
    for (auto some = begun.take(); !some.empty(); some = begun.take())
      for (const std::unique_ptr<Batch>& batch : some) {
        note(batch->queries);
        parts_.backend.finish(*batch->search, consumer(batch->queries));
        parts_.out.show();
      }
  } catch (...) {
    stream.stop();
    begun.close();
    throw;
  }
  reader.join();
  if (error) std::rethrow_exception(error);
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
    parts_.pages.note_query();
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
  // The text of many results takes more memory than the results, so it is made and written step by step.
  parts_.result_text.write(query, documents, [&](const std::string& text) {
    parts_.out.write(text);
    parts_.pages.note_query();
  });
}

}  // namespace quern::tools
