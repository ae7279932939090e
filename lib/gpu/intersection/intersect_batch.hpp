#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/intersection/unpacked_lists.hpp"

/// Queries to intersect, as kernels take them.
namespace quern::gpu {

/// A list as it stands in the index, and unpacked where it is. Short lists, whose postings come with the batch, are of
/// the form `documents`, and coded.raw.
struct IntersectList {
  ListView coded;
  UnpackedPlace unpacked;
};

/// A query's documents are looked for in *parts* of its shortest list; each part has room of its own for what it finds.
struct IntersectQuery {
  std::uint32_t first_term = 0, terms = 0;  ///< among IntersectBatch::terms, rarest first
  std::uint32_t first_part = 0;
  std::uint32_t part_size = 0;   ///< words of room, and of what is looked at: docIDs, or bits 32 by 32
  std::uint64_t first_word = 0;  ///< of its room
  std::uint32_t coded = 0;       ///< 1 where a list has to be decoded
  std::uint32_t bits = 0;        ///< 1 where its room holds bits, not docIDs
};

/// A list to be unpacked before the batch is answered.
struct UnpackTask {
  ListView list;  ///< list.first_block: its blocks among those of all tasks
  UnpackedPlace to;
  std::uint64_t first_entry = 0;  ///< its directory's entries among those of all tasks
};

/// What parts are made of.
struct PartSizes {
  std::uint32_t blocks = 1;       ///< of a coded list
  std::uint32_t documents = 512;  ///< of an unpacked one; 0: all in one part
  std::uint32_t words_of_bits = 1024;
};

/// A batch on the host. Queries are added in the order of their numbers; kernels take those first that decode.
class IntersectBatch {
 public:
  /// Both must outlive the batch; lists get their places in `unpacked`.
  IntersectBatch(const IndexReader& index, UnpackedLists& unpacked, Unpacking unpacking, const PartSizes& sizes)
      : index_(index), unpacked_(unpacked) {
    begin(unpacking, sizes);
  }

  /// Begins anew, in the memory that it has.
  void begin(Unpacking unpacking, const PartSizes& sizes);
  /// Adds a query with these lists, rarest first. False, and nothing added, where there is no room to unpack one of
  /// them that must be.
  bool add(std::span<const PostingList> query_lists);
  /// Decides which lists are unpacked, cuts queries into parts, and gives each its room.
  void finish();

  std::size_t size() const { return added_.size(); }
  /// Documents that the added queries find, at most.
  std::uint64_t max_documents() const { return max_documents_; }
  /// Words of room that parts have for what they find; before finish(), at most.
  std::uint64_t room_words() const { return room_words_; }

  std::vector<IntersectList> lists;
  std::vector<std::uint32_t> terms;       ///< numbers of lists
  std::vector<IntersectQuery> queries;    ///< in the kernels' order
  std::vector<std::uint32_t> places;      ///< of the query added i-th among `queries`
  std::vector<std::uint32_t> raw_docids;  ///< of short lists
  std::vector<UnpackTask> unpack;
  std::uint32_t coded_queries = 0, coded_parts = 0, parts = 0;
  std::uint32_t unpack_blocks = 0;   ///< of all tasks
  std::uint64_t unpack_entries = 0;  ///< of all tasks' directories
  std::uint64_t unpack_begin = 0;    ///< the first word that they write
  std::uint64_t unpack_end = 0;
  std::uint64_t postings = 0;  ///< in the lists of all queries

 private:
  /// What is asked of a list of the batch.
  struct Asked {
    ListState* state = nullptr;  ///< of lists that may be unpacked
    std::uint64_t postings = 0;  ///< that block skipping would decode
  };

  std::uint32_t list_of(const PostingList& list);
  void add_raw(const PostingList& list, ListView& view);
  bool unpack_list(std::uint32_t number);
  void unpack_often_asked();
  /// Cuts the query whose lists are known into parts.
  void cut(IntersectQuery& query);

  const IndexReader& index_;
  UnpackedLists& unpacked_;
  Unpacking unpacking_ = Unpacking::none;
  PartSizes sizes_;
  std::unordered_map<term_t, std::uint32_t> known_;
  std::vector<Asked> asked_;  ///< of `lists`
  std::vector<IntersectQuery> added_;
  std::uint64_t room_words_ = 0, next_word_ = 0, max_documents_ = 0;
};

}  // namespace quern::gpu
