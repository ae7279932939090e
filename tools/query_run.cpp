#include "query_run.hpp"

#include <string>
#include <utility>

#include "answer_stream.hpp"

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

void QueryRun::answer(const std::vector<Query>& queries) {
  GpuStatistics of_gpus;
  parts_.processors.run(texts_of(queries), steps(queries), of_gpus, held_bytes(parts_.resources));
  add(of_gpus);
}

void QueryRun::answer(QueryStream& stream, std::size_t most_begun,
                      const std::function<void(const std::vector<Query>& queries)>& note) {
  answer_stream<QueryProcessors::Begun>(
      stream, most_begun, [&](std::span<const std::string_view> texts) { return parts_.processors.begin(texts); },
      [&](StreamBatch<QueryProcessors::Begun>& batch) {
        note(batch.queries);
        GpuStatistics of_gpus;
        parts_.processors.finish(batch.begun, steps(batch.queries), of_gpus, held_bytes(parts_.resources));
        add(of_gpus);
        parts_.out.show();
      });
}

BatchSteps QueryRun::steps(const std::vector<Query>& queries) {
  BatchSteps steps;
  steps.render = [&](std::size_t i, QueryAnswer& answer) {
    if (parts_.second_stage != nullptr)
      answer.time_us += parts_.second_stage->rerank(queries[i].text, answer.documents, parts_.k);
    if (is_short(answer))
      parts_.result_text.write(queries[i], answer.documents, [&](std::string text) { answer.text = std::move(text); });
    parts_.pages.note_query();
  };
  steps.take = [&](std::size_t i, const QueryAnswer& answer) {
    if (is_short(answer)) {
      parts_.out.write(answer.text);
    } else {
      write_long(queries[i], answer.documents);
    }
    statistics_.add(answer);
    parts_.resources.progress->add(1);
  };
  return steps;
}

void QueryRun::add(const GpuStatistics& of_gpus) {
  statistics_.add(of_gpus);
  if (parts_.processors.shared() != nullptr) statistics_.set(*parts_.processors.shared());
}

void QueryRun::write_long(const Query& query, std::span<const ScoredDocument> documents) {
  // The text of many results takes more memory than they do: a piece is written before the next is made.
  parts_.result_text.write(query, documents, [&](const std::string& text) {
    parts_.out.write(text);
    parts_.pages.note_query();
  });
}

}  // namespace quern::tools
