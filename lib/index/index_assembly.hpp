#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/index_writer.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/impact_sections.hpp"
#include "quern/index/list_source.hpp"
#include "quern/io/external_sort.hpp"

/// What every way to make an index shares: lists are encoded in parallel, documents sorted, and all is written within
/// the memory budget. Three stages, each of which consumes the one before: IndexAssembly writes the lists,
/// AssembledLists the documents, AssembledDocuments the scores and the manifest.
namespace quern {

/// What the making of an index needs besides its tables, at least.
inline constexpr std::uint64_t min_working_bytes = 16 << 20;

/// The tables that must be in memory while an index is made.
struct IndexTables {
  std::uint64_t documents = 0;
  unsigned scores = 0;            ///< of each document, which the caller holds: PageRank, global score
  std::uint64_t other_bytes = 0;  ///< what the caller holds besides

  /// Of each document its place in the order, its docID, length, constant and scores.
  std::uint64_t bytes() const { return documents * 4 * (4 + std::uint64_t{scores}) + other_bytes; }
  /// Throws InvalidArgument if the budget does not hold them and min_working_bytes. `source` as AssemblyPlan has it.
  void check(const std::string& source, const Resources& resources) const;
};

/// What is made, with what, and where. Options, resources and `out` must outlive all stages.
struct AssemblyPlan {
  IndexTables tables;
  const BuildOptions& options;
  const Resources& resources;
  File& out;
  std::string source = {};              ///< what the lists come from, for messages; may be empty
  const WholeOfShard* whole = nullptr;  ///< if the index is a shard

  /// What is left of the budget for sorting, merging and encoding.
  std::uint64_t working_bytes() const { return resources.memory_bytes - tables.bytes(); }
  /// How many pieces of work may be on their way between threads.
  std::size_t jobs_in_flight() const;
};

/// What an index holds of a document besides its postings.
struct IndexedDocument {
  std::string_view docno, url, title;
};

/// Puts documents that come in any order into docID order, on disk if they exceed the budget.
class DocumentSort {
 public:
  explicit DocumentSort(const AssemblyPlan& plan) : rows_(plan.resources.tmp_folder, plan.working_bytes() / 2) {}
  /// Each docID once.
  void add(docid_t docid, std::string_view docno, std::string_view url, std::string_view title);

 private:
  friend class AssembledLists;
  ExternalSort rows_;
  Bytes row_;
};

/// An index whose documents are written; scores and manifest follow.
class AssembledDocuments {
 public:
  /// Writes the scores by docID, if there are any, and the manifest, and ends the file. Options, statistics, number
  /// of documents and counts of postings are filled in here.
  BuildReport finish(IndexManifest manifest, std::span<const float> pagerank = {},
                     std::span<const float> global_scores = {}) &&;

 private:
  friend class AssembledLists;
  AssembledDocuments(const AssemblyPlan& plan, IndexEndWriter writer, IndexManifest counts)
      : plan_(plan), writer_(std::move(writer)), counts_(std::move(counts)) {}

  AssemblyPlan plan_;
  IndexEndWriter writer_;
  IndexManifest counts_;
};

/// An index whose lists are written; documents follow.
class AssembledLists {
 public:
  std::uint64_t postings() const { return counts_.postings; }
  /// Frequencies of all postings, summed up.
  std::uint64_t tokens() const { return counts_.tokens; }

  AssembledDocuments write_documents(DocumentSort documents) &&;
  /// The same for documents that can be made in docID order: for_each_document(first, end, visit) calls
  /// visit(document) for those of [first, end), by several threads.
  using DocumentVisit = std::function<void(const IndexedDocument&)>;
  using ForEachDocument = std::function<void(docid_t first, docid_t end, const DocumentVisit& visit)>;
  AssembledDocuments write_documents(const ForEachDocument& for_each_document) &&;

 private:
  friend class IndexAssembly;
  AssembledLists(const AssemblyPlan& plan, IndexDocumentWriter writer, std::vector<std::uint32_t> lengths,
                 IndexManifest counts)
      : plan_(plan), writer_(std::move(writer)), lengths_(std::move(lengths)), counts_(std::move(counts)) {}
  /// for_each_pack(put) calls put(pack) for the documents in docID order.
  template <class ForEachPack>
  AssembledDocuments write(ForEachPack&& for_each_pack);

  AssemblyPlan plan_;
  IndexDocumentWriter writer_;
  std::vector<std::uint32_t> lengths_;
  IndexManifest counts_;  ///< what the lists add to the manifest
};

/// An index of which nothing is written yet.
class IndexAssembly {
 public:
  /// Throws InvalidArgument as IndexTables::check() does.
  explicit IndexAssembly(const AssemblyPlan& plan);

  const AssemblyPlan& plan() const { return plan_; }
  std::uint64_t working_bytes() const { return plan_.working_bytes(); }
  std::size_t jobs_in_flight() const { return plan_.jobs_in_flight(); }

  /// Writes all lists, and their quantized impacts if the options ask for them. `lengths`: of the documents in docID
  /// order; `statistics` is what scores are made with. `term_at` names the terms by the numbers that the source gives
  /// them, and is asked in rising order; `expected_postings` is for progress alone.
  AssembledLists write_lists(std::vector<std::uint32_t> lengths, const CollectionStatistics& statistics,
                             ListSource& lists, std::uint64_t expected_postings,
                             const std::function<std::string_view(term_t)>& term_at) &&;

 private:
  std::vector<float> constants(std::span<const std::uint32_t> lengths, const CollectionStatistics& statistics) const;

  AssemblyPlan plan_;
  IndexListWriter writer_;
};

}  // namespace quern
