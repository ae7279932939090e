#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/index/list_source.hpp"
#include "quern/index/shards/shard_source.hpp"

namespace quern {

/// Consecutive postings of an index's list, to be moved to another index with different docIDs.
struct PostingRange {
  const IndexReader* index = nullptr;
  PostingList list;
  std::uint64_t first = 0, count = 0;  ///< postings of the list
  docid_t add = 0, subtract = 0;       ///< new docID = docID + add - subtract
};

/// Lists of a new index, joined from ranges of other indexes in docID order. This reads only positions; the encoding
/// threads decode the postings.
class JoinedLists : public ListSource {
 public:
  /// Sets the next list's term, in ascending order, and appends its ranges; false at the end.
  using Next = std::function<bool(std::string& term, std::vector<PostingRange>& ranges)>;
  /// Releases mapped pages of the indexes.
  using Release = std::function<void()>;
  /// `makes_pieces`: long lists come as ListPieces; otherwise those of more than `max_list_postings` come as LongLists.
  /// `release` is called from time to time.
  JoinedLists(Next next, Release release, bool makes_pieces, std::uint64_t max_list_postings,
              const std::string& tmp_folder);

  bool next(ListBatch& batch) override;
  /// The term with this number. Call in ascending order, possibly in another thread than next(). The view is valid
  /// until the next call.
  std::string_view term_at(term_t term) { return names_.at(term); }

 private:
  struct Joined {
    term_t term = 0;
    std::uint64_t df = 0;
    std::vector<PostingRange> ranges;
  };
  struct JoinedBatch;

  bool join_next();
  /// The next batch, starting with the current list.
  ListBatch next_batch();
  DeferredLists piece(std::uint64_t first) const;
  DeferredLists next_lists();
  LongList long_list() const;
  void count_for_release(std::uint64_t postings);

  Next next_;
  Release release_;
  bool makes_pieces_;
  std::uint64_t max_list_postings_;
  std::string tmp_folder_;
  Joined joined_;  ///< the current list, unless it was returned
  bool has_joined_ = false;
  std::uint64_t next_piece_ = 0;  ///< of the current list
  term_t terms_ = 0;
  std::uint64_t since_release_ = 0;
  std::string name_;  ///< of the current list
  TermNames names_;
};

/// Limit of a list's postings in memory while `jobs` jobs assemble an index within `working_bytes`.
std::uint64_t max_joined_postings(std::uint64_t working_bytes, std::size_t jobs);

}  // namespace quern
