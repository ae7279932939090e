#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/impact_sections.hpp"
#include "quern/index/list_source.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/spool.hpp"

/// The common part of all ways to create an index: encodes lists in parallel, sorts documents, and writes all within
/// the memory budget.
namespace quern {

/// Minimum memory for creating an index, besides its tables.
inline constexpr std::uint64_t min_working_bytes = 16 << 20;

/// The tables held in memory while an index is created.
struct IndexTables {
  std::uint64_t documents = 0;
  unsigned scores = 0;            ///< scores per document held by the caller: PageRank, global score
  std::uint64_t other_bytes = 0;  ///< other memory held by the caller

  /// Per document: position in the order, docID, length, constant and scores.
  std::uint64_t bytes() const { return documents * 4 * (4 + std::uint64_t{scores}) + other_bytes; }
  /// Throws InvalidArgument if the budget can't hold the tables and min_working_bytes. `source` as in AssemblyPlan.
  void check(const std::string& source, const Resources& resources) const;
};

/// Inputs and output of an assembly. Options, resources and `out` must outlive all stages.
struct AssemblyPlan {
  IndexTables tables;
  const BuildOptions& options;
  const Resources& resources;
  File& out;
  std::string source = {};                   ///< source of the lists, for messages; may be empty
  const CollectionContext* whole = nullptr;  ///< only for shards

  /// Memory left for sorting, merging and encoding.
  std::uint64_t working_bytes() const { return resources.memory_bytes - tables.bytes(); }
  /// Limit of jobs in flight between threads.
  std::size_t jobs_in_flight() const;
};

/// A list's term.
struct ListTerm {
  std::string_view text;
  std::uint64_t cf = 0;  ///< in the text of the whole collection; only for weighting models

  ListTerm(std::string_view term, std::uint64_t term_cf = 0)
      : text(term), cf(term_cf) {}  // NOLINT(google-explicit-constructor): mostly a text
};

/// An index's data of a document, without postings.
struct IndexedDocument {
  std::string_view docno, url, title;
};

/// Sorts documents into docID order, on disk if they exceed the budget.
class DocumentSort {
 public:
  explicit DocumentSort(const AssemblyPlan& plan) : rows_(plan.resources.tmp_folder, plan.working_bytes() / 2) {}
  /// Adds a document; each docID once.
  void add(docid_t docid, std::string_view docno, std::string_view url, std::string_view title);

 private:
  friend class IndexAssembly;
  ExternalSort rows_;
  Bytes row_;
};

/// Writes an index in three steps, each once and in this order: lists, documents, and the end.
class IndexAssembly {
 public:
  /// Throws InvalidArgument like IndexTables::check().
  explicit IndexAssembly(const AssemblyPlan& plan);

  const AssemblyPlan& plan() const { return plan_; }
  std::uint64_t working_bytes() const { return plan_.working_bytes(); }
  std::size_t jobs_in_flight() const { return plan_.jobs_in_flight(); }

  /// Writes all lists, and their quantized impacts if the options request them. `lengths` are the documents' in docID
  /// order; scores use `statistics`. `term_at` returns a term by the source's number and is called in ascending order;
  /// `expected_postings` is only for progress. With a weighting model, the source's frequencies are weights already.
  void write_lists(std::vector<std::uint32_t> lengths, const CollectionStatistics& statistics, ListSource& lists,
                   std::uint64_t expected_postings, const std::function<ListTerm(term_t)>& term_at);
  /// Of the lists written.
  std::uint64_t postings() const { return counts_.postings; }
  /// Sum of all frequencies; with a weighting model, of all lengths.
  std::uint64_t tokens() const { return counts_.tokens; }

  void write_documents(DocumentSort documents);
  /// Writes documents that are available in docID order: threads call for_each_document(first, end, visit), which calls
  /// visit(document) for those of [first, end).
  using DocumentVisit = std::function<void(const IndexedDocument&)>;
  using ForEachDocument = std::function<void(docid_t first, docid_t end, const DocumentVisit& visit)>;
  void write_documents(const ForEachDocument& for_each_document);

  /// Writes the scores by docID, if any, and the manifest, and ends the file. Sets the manifest's options, statistics,
  /// number of documents and posting counts.
  BuildReport finish(IndexManifest manifest, std::span<const float> pagerank = {},
                     std::span<const float> global_scores = {});

 private:
  std::vector<float> constants(std::span<const std::uint32_t> lengths, const CollectionStatistics& statistics) const;
  /// for_each_pack(put) calls put(pack) for the documents in docID order.
  template <class ForEachPack>
  void write(ForEachPack&& for_each_pack);

  AssemblyPlan plan_;
  IndexWriter writer_;
  std::vector<std::uint32_t> lengths_;
  IndexManifest counts_;  ///< the lists' counts for the manifest
};

/// The sizes of an index, in the figures compared by papers.
struct IndexFigures {
  std::uint64_t postings_bytes = 0;   ///< encoded postings, including those of short lists
  double docid_bits_per_posting = 0;  ///< encoded payload and decoding data, without block rows
  double freq_bits_per_posting = 0;
  std::uint64_t block_max_bytes = 0;  ///< block rows, and the lists' greatest and k-th best impacts
  double block_max_bits_per_posting = 0;
  std::uint64_t impact_bytes = 0;  ///< quantized impacts and their offsets and widths
  double impact_bits_per_posting = 0;
  std::uint64_t lexicon_bytes = 0;  ///< without short lists and upper bounds
  double lexicon_bytes_per_term = 0;
  std::uint64_t file_bytes = 0;
  /// Lists and postings by length: row i counts lists of 2^i to 2^(i+1) - 1 postings.
  struct LengthRow {
    std::uint64_t lists = 0, postings = 0;
  };
  std::vector<LengthRow> lengths;
  double lists_in_one_block = 0;  ///< share of all lists
};

IndexFigures index_figures(const IndexReader& index);

/// Sorts docIDs by (docno hash, docID), on disk if they exceed the memory. Much faster than ExternalSort, since its
/// keys are numbers.
class DocnoOrder {
 public:
  /// Uses several threads, and at least 1 MiB of memory.
  DocnoOrder(const std::string& tmp_folder, std::uint64_t memory_bytes);

  void add(std::uint64_t hash, docid_t docid);
  /// Calls visit(docIDs) for consecutive pieces of the order. Call once.
  void merge(const std::function<void(std::span<const docid_t>)>& visit);

 private:
  struct Row {
    std::uint32_t high, low;  ///< halves of the hash, so that rows take 12 bytes
    docid_t docid;

    std::uint64_t hash() const { return std::uint64_t{high} << 32 | low; }
    bool operator<(const Row& other) const {
      return hash() != other.hash() ? hash() < other.hash() : docid < other.docid;
    }
  };
  void sort_rows();
  void spill();
  template <class Visit>
  static void merge_runs(const Spool& spool, std::span<const SpooledRuns::Run> runs, Visit&& visit);

  std::uint64_t memory_bytes_;
  std::vector<Row> rows_;
  SpooledRuns runs_;
};

}  // namespace quern
