#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/index/list_source.hpp"
#include "quern/index/shards/shard_source.hpp"

namespace quern {

/// Consecutive postings of a list of an index, which go to another index with other docIDs.
struct PostingRange {
  const IndexReader* index = nullptr;
  PostingList list;
  std::uint64_t first = 0, count = 0;  ///< postings of the list
  docid_t add = 0, subtract = 0;       ///< docIDs there are docIDs here + add - subtract
};

/// Lists of a new index that are made of ranges of others, in the order of docIDs. Only places are read here; postings
/// are decoded by those who encode them.
class JoinedLists : public ListSource {
 public:
  /// Replaces the term by that of the next list, terms rising, and appends its ranges; false at the end.
  using Next = std::function<bool(std::string& term, std::vector<PostingRange>& ranges)>;
  /// Gives mapped pages of the indexes back.
  using Release = std::function<void()>;
  /// `makes_pieces`: long lists come as ListPieces; else those of more than `max_list_postings` come as LongLists.
  /// `release` is called now and then.
  JoinedLists(Next next, Release release, bool makes_pieces, std::uint64_t max_list_postings,
              const std::string& tmp_folder);

  bool next(ListBatch& batch) override;
  /// The term with this number; asked in rising order, by another thread than next() maybe. The view is valid until the
  /// next call.
  std::string_view term_at(term_t term) { return names_.at(term); }

 private:
  struct Joined {
    term_t term = 0;
    std::uint64_t df = 0;
    std::vector<PostingRange> ranges;
  };
  struct JoinedBatch;

  bool join_next();
  /// What next() hands out, from the list at hand on.
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
  Joined joined_;  ///< the list at hand, unless it is handed out
  bool has_joined_ = false;
  std::uint64_t next_piece_ = 0;  ///< of the list at hand
  term_t terms_ = 0;
  std::uint64_t since_release_ = 0;
  std::string name_;  ///< of the list at hand
  TermNames names_;
};

/// How many postings of a list may be in memory at once while an index is assembled in `working_bytes` by so many jobs.
std::uint64_t max_joined_postings(std::uint64_t working_bytes, std::size_t jobs);

}  // namespace quern
