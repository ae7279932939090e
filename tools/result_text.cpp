#include "result_text.hpp"

#include <algorithm>
#include <optional>

namespace quern::tools {

void ResultText::write(const Query& query, std::span<const ScoredDocument> documents,
                       const std::function<void(std::string)>& write) const {
  std::optional<ResultFields::OfQuery> fields;
  if (fields_ != nullptr) fields.emplace(*fields_, query.text);
  for (std::size_t from = 0; from == 0 || from < documents.size(); from += max_results) {
    std::vector<IndexReader::DocumentText> texts;
    const auto piece = documents.subspan(from, std::min(max_results, documents.size() - from));
    const auto results = results_of(piece, texts, fields ? &*fields : nullptr);
    std::string text;
    format_.append_piece(text, query.id, query.text,
                         {results, from + 1, from == 0, from + results.size() == documents.size(), on_terminal_}, tag_);
    write(std::move(text));
  }
}

std::vector<RunResult> ResultText::results_of(std::span<const ScoredDocument> documents,
                                              std::vector<IndexReader::DocumentText>& texts,
                                              ResultFields::OfQuery* fields) const {
  if (fields != nullptr) fields->clear();
  texts.reserve(documents.size());
  std::vector<RunResult> results;
  results.reserve(documents.size());
  for (const ScoredDocument& document : documents) {
    RunResult& result = results.emplace_back();
    const IndexShards::Place place = shards_.place(document.docid);
    result.docno = place.index.docno(place.docid);
    result.score = document.score;
    if (!format_.shows_titles()) continue;
    texts.push_back(place.index.text(place.docid));
    if (fields_ == nullptr || fields_->has_title()) result.title = texts.back().title;
    if (fields_ == nullptr || fields_->has_url()) result.url = texts.back().url;
    if (fields != nullptr) result.fields = fields->of(place, texts.back());
  }
  return results;
}

}  // namespace quern::tools
