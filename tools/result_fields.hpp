#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/text/snippet.hpp"

#include "command.hpp"

/// --fields of quern query: what is printed of a result besides docno and score.
namespace quern::tools {

void add_fields_option(CLI::App& command, std::vector<std::string>& names);

/// The fields that were asked for, and where an index has them. Safe to share between threads.
class ResultFields {
 public:
  /// Throws InvalidArgument, with the remedy, if the index lacks a field, or texts for snippets.
  ResultFields(const std::vector<std::string>& names, const IndexReader& index);

  bool has_title() const { return has_title_; }
  bool has_url() const { return has_url_; }

  /// What results of one query show; a piece of them is in memory at a time.
  class OfQuery {
   public:
    OfQuery(const ResultFields& fields, std::string_view query_text);
    /// The fields of a document, in the order in which they were asked for, with what was read of it before. Views of
    /// `texts` and of this object until clear().
    std::span<const ResultField> of(docid_t docid, const IndexReader::DocumentText& text);
    void clear();

   private:
    Snippet snippet(docid_t docid);

    const ResultFields& fields_;
    Analyzer analyzer_;
    SnippetMaker maker_;
    TextBuffers text_buffers_;
    FieldBuffers field_buffers_;
    std::deque<std::vector<ResultField>> shown_;
    std::deque<std::string> texts_;
    std::deque<Snippet> snippets_;
  };

 private:
  /// A field by its name, and its number if it is a kept one.
  struct Wanted {
    std::string name;
    std::optional<std::size_t> kept;
  };

  const IndexReader& index_;
  std::vector<Wanted> wanted_;
  std::optional<FieldsReader> kept_;
  std::optional<TextsReader> texts_;
  bool has_title_ = false, has_url_ = false;
};

}  // namespace quern::tools
