#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/index/build_index.hpp"
#include "quern/index/list_source.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {

/// What an index holds of a document besides its postings.
struct IndexedDocument {
  std::string docno, url, title;
};

/// What every way to make an index has in common: lists are encoded in parallel, documents sorted by docID, and all is
/// written within the memory budget. Calls come in this order: set_lengths(), add_lists(), add_document() for each
/// document (which may also come earlier), end_documents(), add_scores() where there are scores, finish().
class IndexAssembly {
 public:
  /// Throws InvalidArgument where the budget can't hold the tables that must be in memory (16 bytes a document and
  /// 16 MB). Options, resources and `out` must outlive the object.
  IndexAssembly(std::uint64_t documents, const BuildOptions& options, const Resources& resources, File& out);

  /// What is left of the budget for sorting, merging and encoding.
  std::uint64_t working_bytes() const { return resources_.memory_bytes - table_bytes(); }
  /// How many pieces of work may be on their way between threads.
  std::size_t jobs_in_flight() const;

  /// The documents' lengths in docID order, and what scores are made with.
  void set_lengths(std::vector<std::uint32_t> lengths, const CollectionStatistics& statistics);
  std::span<const std::uint32_t> lengths() const { return lengths_; }
  /// Writes all lists, and their quantized impacts where the options ask for them. `term_at` names the terms by the
  /// numbers that the source gives them, which are asked for in rising order; `expected_postings` is for the progress
  /// alone.
  void add_lists(ListSource& lists, std::uint64_t expected_postings,
                 const std::function<std::string_view(term_t)>& term_at);
  /// In any order; each docID once.
  void add_document(docid_t docid, std::string_view docno, std::string_view url, std::string_view title);
  /// The same without sorting, for documents that come in docID order; after add_lists(), and for all documents or
  /// none.
  void write_document(docid_t docid, const IndexedDocument& document);
  void end_documents();
  void add_scores(std::span<const float> pagerank, std::span<const float> global_scores) {
    writer_.add_scores(pagerank, global_scores);
  }
  std::uint64_t postings() const { return postings_; }
  /// Frequencies of all postings, summed up.
  std::uint64_t tokens() const { return tokens_; }
  /// Ends the file. Options, statistics, number of documents and counts of postings are filled in here.
  BuildReport finish(IndexManifest manifest);

 private:
  std::uint64_t table_bytes() const { return documents_ * 16; }
  void check_memory() const;
  std::vector<float> constants() const;

  std::uint64_t documents_;
  const BuildOptions& options_;
  const Resources& resources_;
  File& out_;
  IndexWriter writer_;
  std::vector<std::uint32_t> lengths_;
  CollectionStatistics statistics_;
  std::optional<ExternalSort> document_rows_;
  std::optional<ExternalSort> docno_hashes_;
  CodedBits bits_;
  std::uint64_t postings_ = 0, tokens_ = 0;
  float quantize_top_ = 0;
};

}  // namespace quern
