#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/index/list_source.hpp"
#include "quern/lab/synth/list_generator.hpp"

namespace quern {

/// Hands out synthetic lists in the order of their terms; the threads that encode them draw them.
class SynthLists : public ListSource {
 public:
  /// `docids`: the docID of each document of the tree; empty if it is the document's number. A list that would take
  /// more than `list_bytes` goes through a work file in `tmp_folder`; `in_pieces`: lists may come as ListPieces
  /// instead, which needs docIDs that are the documents' numbers. Tree, fields and docIDs must outlive the object.
  SynthLists(const DocumentTree& tree, std::span<const TermField> fields, std::span<const docid_t> docids,
             std::uint64_t list_bytes, std::string tmp_folder, bool in_pieces);

  bool next(ListBatch& batch) override;

 private:
  DeferredLists next_piece();
  Lists make_piece(std::size_t term, std::uint64_t first);
  Lists make_lists(std::size_t from, std::size_t end);
  Lists make_long_list(std::size_t term);
  std::uint64_t max_postings() const;

  std::span<const TermField> fields_;
  std::span<const docid_t> docids_;
  std::uint64_t list_bytes_;
  std::string tmp_folder_;
  docid_t documents_;
  tbb::enumerable_thread_specific<ListGenerator> generators_;
  bool in_pieces_;
  std::size_t next_ = 0;
  std::uint64_t next_first_ = 0;  ///< the next piece of that list
};

}  // namespace quern
