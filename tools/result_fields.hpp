#pragma once
#include <deque>

#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/search/top_k.hpp"
#include "quern/text/snippet.hpp"

#include "command.hpp"

/// --fields of quern query: what is printed of a result besides docno and score.
namespace quern::tools {

void add_fields_option(CLI::App& command, std::vector<std::string>& names);

/// The fields that were asked for, and where an index, or its shards, have them. Safe to share between threads.
class ResultFields {
 public:
  /// The shards must stay. Throws InvalidArgument, with the remedy, if one lacks a field, or texts for snippets.
  ResultFields(const std::vector<std::string>& names, const IndexShards& shards);

  bool has_title() const { return has_title_; }
  bool has_url() const { return has_url_; }

  /// What results of one query show; a piece of them is in memory at a time.
  class Reader {
   public:
    Reader(const ResultFields& fields, std::string_view query_text);
    /// The fields of a document, in the order in which they were asked for, with what was read of it before. Views of
    /// `texts` and of this object until clear().
    std::span<const ResultField> read(const IndexShards::Place& place, const IndexReader::DocumentText& text);
    void clear();

   private:
    Snippet snippet(const IndexShards::Place& place);

    const ResultFields& fields_;
    Analyzer analyzer_;
    SnippetMaker maker_;
    /// Of each shard.
    std::vector<TextBuffers> text_buffers_;
    std::vector<FieldBuffers> field_buffers_;
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

  Wanted wanted(const std::string& name, const IndexReader& index) const;

  const IndexShards& shards_;
  std::vector<Wanted> wanted_;
  std::deque<FieldsReader> kept_;  ///< of each shard; empty: the index keeps no fields
  std::deque<TextsReader> texts_;  ///< of each shard, if snippets were asked for
  bool has_title_ = false, has_url_ = false;
};

/// Turns docIDs into what an output format shows of results. Safe to share between threads.
class ResultText {
 public:
  /// Results that are turned into text at once.
  static constexpr std::size_t max_results = 1024;

  /// `tag`: the run's name. `fields`: those that were asked for; null: title and URL. All must outlive the object.
  ResultText(const IndexShards& shards, const RunFormat& format, const std::string& tag, const ResultFields* fields,
             bool on_terminal)
      : shards_(shards), format_(format), tag_(tag), fields_(fields), on_terminal_(on_terminal) {}

  /// Calls write(text) for a query's results, once where there are at most max_results. `proof`: none if the search had
  /// no budget.
  void write(const Query& query, std::span<const ScoredDocument> documents, const std::optional<ResultProof>& proof,
             const std::function<void(std::string)>& write) const;

 private:
  /// `texts`: what the results are views of. `fields`: null if none were asked for.
  std::vector<RunResult> results_of(std::span<const ScoredDocument> documents,
                                    std::vector<IndexReader::DocumentText>& texts, ResultFields::Reader* fields) const;

  const IndexShards& shards_;
  const RunFormat& format_;
  const std::string& tag_;
  const ResultFields* fields_;
  bool on_terminal_;
};

}  // namespace quern::tools
