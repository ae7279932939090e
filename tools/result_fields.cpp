#include "result_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quern/index/make_index.hpp"

namespace quern::tools {

void add_fields_option(CLI::App& command, std::vector<std::string>& names) {
  add_option(command, "--fields", names, "NAME",
             "With json or text output, print these fields instead of title and URL: title, url, fields kept by quern "
             "index --keep-fields, and text, a snippet around the query's words (for indexes built with --store-text)")
      ->delimiter(',');
}

ResultFields::Wanted ResultFields::wanted(const std::string& name, const IndexReader& index) const {
  if (name == "title" || name == "url" || name == "text") return {name, std::nullopt};
  const auto kept = kept_.empty() ? std::nullopt : kept_.front().find(name);
  if (!kept)
    throw InvalidArgument(
        "{}: no field '{}'; available: title, url, text{}{}; keep fields of JSON objects with quern index "
        "--keep-fields",
        index.name(), name, kept_.empty() ? "" : ", ",
        kept_.empty() ? std::string() : fmt::format("{}", fmt::join(kept_.front().manifest().names, ", ")));
  return {name, kept};
}

ResultFields::ResultFields(const std::vector<std::string>& names, const IndexShards& shards) : shards_(shards) {
  // All shards keep the same fields.
  if (has_member(shards[0].name(), fields_member))
    for (const IndexReader& shard : shards) kept_.push_back(FieldsReader::open_beside(shard));
  for (const std::string& name : names) {
    if (std::any_of(wanted_.begin(), wanted_.end(), [&](const Wanted& wanted) { return wanted.name == name; }))
      throw InvalidArgument("--fields names '{}' twice", name);
    wanted_.push_back(wanted(name, shards[0]));
    if (name == "title") has_title_ = true;
    if (name == "url") has_url_ = true;
    if (name == "text")
      for (const IndexReader& shard : shards) texts_.push_back(TextsReader::open_beside(shard));
  }
}

ResultFields::Reader::Reader(const ResultFields& fields, std::string_view query_text)
    : fields_(fields),
      analyzer_(fields.shards_[0].manifest().analyzer),
      maker_(query_text, analyzer_),
      text_buffers_(fields.texts_.size()),
      field_buffers_(fields.kept_.size()) {}

void ResultFields::Reader::clear() {
  shown_.clear();
  texts_.clear();
  snippets_.clear();
}

Snippet ResultFields::Reader::snippet(const IndexShards::Place& place) {
  // The first line is the title, which has a field of its own.
  bool in_title = true;
  fields_.texts_[place.shard].read(place.docid, text_buffers_[place.shard], [&](std::string_view piece) {
    if (in_title) {
      const std::size_t end = piece.find('\n');
      in_title = end == std::string_view::npos;
      piece.remove_prefix(in_title ? piece.size() : end + 1);
    }
    maker_.add(piece);
  });
  return maker_.finish();
}

std::span<const ResultField> ResultFields::Reader::read(const IndexShards::Place& place,
                                                        const IndexReader::DocumentText& text) {
  std::vector<ResultField>& shown = shown_.emplace_back();
  for (const Wanted& wanted : fields_.wanted_) {
    ResultField& field = shown.emplace_back();
    field.name = wanted.name;
    field.value.kind = FieldValue::Kind::text;
    if (wanted.kept) {
      field.value = fields_.kept_[place.shard].value(*wanted.kept, place.docid, field_buffers_[place.shard]);
      // The buffer may hold other values next.
      if (field.value.kind == FieldValue::Kind::text) field.value.text = texts_.emplace_back(field.value.text);
    } else if (wanted.name == "text") {
      const Snippet& snippet = snippets_.emplace_back(this->snippet(place));
      field.value.text = snippet.text;
      field.matches = snippet.matches;
      field.is_snippet = true;
    } else {
      field.value.text = wanted.name == "title" ? text.title : text.url;
    }
  }
  return shown;
}

void ResultText::write(const Query& query, std::span<const ScoredDocument> documents,
                       const std::optional<ResultProof>& proof, const std::function<void(std::string)>& write) const {
  std::optional<ResultFields::Reader> fields;
  if (fields_ != nullptr) fields.emplace(*fields_, query.text);
  for (std::size_t from = 0; from == 0 || from < documents.size(); from += max_results) {
    std::vector<IndexReader::DocumentText> texts;
    const auto piece = documents.subspan(from, std::min(max_results, documents.size() - from));
    const auto results = results_of(piece, texts, fields ? &*fields : nullptr);
    std::string text;
    format_.append_piece(text, query.id, query.text,
                         {results, from + 1, from == 0, from + results.size() == documents.size(), on_terminal_, proof},
                         tag_);
    write(std::move(text));
  }
}

std::vector<RunResult> ResultText::results_of(std::span<const ScoredDocument> documents,
                                              std::vector<IndexReader::DocumentText>& texts,
                                              ResultFields::Reader* fields) const {
  if (fields != nullptr) fields->clear();
  texts.reserve(documents.size());
  std::vector<RunResult> results;
  results.reserve(documents.size());
  for (const ScoredDocument& document : documents) {
    RunResult& result = results.emplace_back();
    const IndexShards::Place place = shards_.place(document.docid);
    result.docno = place.index.docno(place.docid);
    result.score = document.score;
    if (!format_.shows_titles) continue;
    texts.push_back(place.index.text(place.docid));
    if (fields_ == nullptr || fields_->has_title()) result.title = texts.back().title;
    if (fields_ == nullptr || fields_->has_url()) result.url = texts.back().url;
    if (fields != nullptr) result.fields = fields->read(place, texts.back());
  }
  return results;
}

}  // namespace quern::tools
