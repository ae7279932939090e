#include "result_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "quern/pipeline/beside_files.hpp"

namespace quern::tools {

void add_fields_option(CLI::App& command, std::vector<std::string>& names) {
  command
      .add_option(
          "--fields", names,
          "Print these fields of results instead of title and URL, as json or text: title, url, fields that quern "
          "index --keep-fields kept, and text, the part around the query's words of an index made with "
          "--store-text")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
}

ResultFields::ResultFields(const std::vector<std::string>& names, const IndexReader& index) : index_(index) {
  if (has_file(fields_path(index.name()))) kept_.emplace(FieldsReader::open_beside(index));
  for (const std::string& name : names) {
    if (std::any_of(wanted_.begin(), wanted_.end(), [&](const Wanted& wanted) { return wanted.name == name; }))
      throw InvalidArgument(fmt::format("--fields names '{}' twice", name));
    std::optional<std::size_t> kept;
    if (name == "text") {
      texts_.emplace(TextsReader::open_beside(index));
    } else if (name == "title") {
      has_title_ = true;
    } else if (name == "url") {
      has_url_ = true;
    } else {
      if (kept_) kept = kept_->find(name);
      if (!kept)
        throw InvalidArgument(fmt::format(
            "{}: has no field '{}', but title, url, text{}{}; quern index --keep-fields keeps fields of JSON objects",
            index.name(), name, kept_ ? ", " : "",
            kept_ ? fmt::format("{}", fmt::join(kept_->manifest().names, ", ")) : std::string()));
    }
    wanted_.push_back({name, kept});
  }
}

ResultFields::OfQuery::OfQuery(const ResultFields& fields, std::string_view query_text)
    : fields_(fields), analyzer_(fields.index_.manifest().analyzer), maker_(query_text, analyzer_) {}

void ResultFields::OfQuery::clear() {
  shown_.clear();
  texts_.clear();
  snippets_.clear();
}

Snippet ResultFields::OfQuery::snippet(docid_t docid) {
  // The first line is the title, which has a field of its own.
  bool in_title = true;
  fields_.texts_->read(docid, text_buffers_, [&](std::string_view piece) {
    if (in_title) {
      const std::size_t end = piece.find('\n');
      in_title = end == std::string_view::npos;
      piece.remove_prefix(in_title ? piece.size() : end + 1);
    }
    maker_.add(piece);
  });
  return maker_.finish();
}

std::span<const ResultField> ResultFields::OfQuery::of(docid_t docid, const IndexReader::DocumentText& text) {
  std::vector<ResultField>& shown = shown_.emplace_back();
  for (const Wanted& wanted : fields_.wanted_) {
    ResultField& field = shown.emplace_back();
    field.name = wanted.name;
    field.value.kind = FieldValue::Kind::text;
    if (wanted.kept) {
      field.value = fields_.kept_->value(*wanted.kept, docid, field_buffers_);
      // The buffer may hold other values next.
      if (field.value.kind == FieldValue::Kind::text) field.value.text = texts_.emplace_back(field.value.text);
    } else if (wanted.name == "text") {
      const Snippet& snippet = snippets_.emplace_back(this->snippet(docid));
      field.value.text = snippet.text;
      field.matches = snippet.matches;
      field.is_snippet = true;
    } else {
      field.value.text = wanted.name == "title" ? text.title : text.url;
    }
  }
  return shown;
}

}  // namespace quern::tools
