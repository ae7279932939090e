#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/index/index_assembly.hpp"

namespace quern {

/// Consecutive postings of an index's list, to be moved to another index with different docIDs.
struct PostingRange {
  const IndexReader* index = nullptr;
  PostingList list;
  std::uint64_t first = 0, count = 0;  ///< postings of the list
  docid_t add = 0, subtract = 0;       ///< new docID = docID + add - subtract
};

/// The lists of a new index, joined from ranges of other indexes in docID order.
struct JoinedLists {
  /// Sets the next list's term, in ascending order, and appends its ranges; false at the end.
  std::function<bool(std::string& term, std::vector<PostingRange>& ranges)> next;
  /// Releases mapped pages of the indexes; called from time to time.
  std::function<void()> release;
};

/// IndexAssembly::write_lists() for joined lists, within the assembly's memory.
void write_joined_lists(IndexAssembly& assembly, std::vector<std::uint32_t> lengths,
                        const CollectionStatistics& statistics, std::uint64_t expected_postings,
                        const JoinedLists& lists);

/// Calls visit(document) for the documents [first, end) of an index, in order. Thread-safe.
void visit_documents(const IndexReader& index, docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit);

}  // namespace quern
