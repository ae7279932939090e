#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/intersection/unpacked_lists.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// A batch of intersections, as kernels take it.
namespace quern::gpu {

/// A list: coded, as in the index, and unpacked if it has been. The postings of a short list come with the batch; its
/// format is `documents`, and coded.raw is 1.
struct IntersectList {
  ListView coded;
  UnpackedPlace unpacked;
};

/// A query. Its shortest list is cut into *parts*, each with its own space for the documents that it finds.
struct IntersectQuery {
  std::uint32_t first_term = 0, terms = 0;  ///< in IntersectBatch::terms, shortest list first
  std::uint32_t first_part = 0;
  std::uint32_t part_size = 0;   ///< words per part, of the list and of space for results: docIDs, or 32 bits each
  std::uint64_t first_word = 0;  ///< of its space for results
  std::uint32_t coded = 0;       ///< 1 if a list must be decoded, else 0
  std::uint32_t bits = 0;        ///< 1 if its results are bits, 0 if they are docIDs
};

/// A list that is unpacked before the batch is answered.
struct UnpackTask {
  ListView list;  ///< list.first_block: the number of its first block among those of all tasks
  UnpackedPlace to;
  std::uint64_t first_entry = 0;  ///< number of its directory's first entry among those of all tasks
  std::uint32_t first_piece = 0;  ///< number of the first piece of its docIDs or bits among those of all tasks
};

/// Words that a warp fills with zeros at a time: a piece of a list that is to be unpacked.
inline constexpr std::uint32_t zeroed_piece = 4096;

/// The size of a part, by the format of the shortest list.
struct PartSizes {
  std::uint32_t blocks = 1;            ///< of a coded list
  std::uint32_t documents = 512;       ///< of unpacked docIDs; 0: all in one part
  std::uint32_t words_of_bits = 1024;  ///< of bits
};

/// A batch in host memory. Kernels take queries that decode lists before the others.
class IntersectBatch {
 public:
  /// Lists are given places in `unpacked`. It and `index` must outlive the batch.
  IntersectBatch(const IndexReader& index, UnpackedLists& unpacked, Unpacking unpacking, const PartSizes& sizes)
      : index_(index), unpacked_(unpacked) {
    begin(unpacking, sizes);
  }

  /// Removes all queries, but keeps memory. Unpacked lists are used for the batch of this flight until it is released
  /// or cancelled: see UnpackedLists.
  void begin(Unpacking unpacking, const PartSizes& sizes, unsigned flight = 0);
  /// Adds a query with these lists, shortest first. Returns false and adds nothing if a list must be unpacked, but
  /// unpacked lists in use leave too little memory for it.
  bool add(std::span<const PostingList> query_lists);
  /// Decides which lists are unpacked, cuts queries into parts, and gives each part its space for results.
  void finish();
  /// After finish(): the lists that the batch reads in blocks, and their views. Those of lists that it unpacks are set
  /// by place_unpacked().
  std::vector<WantedList> coded_lists();
  /// Gives the lists to be unpacked the places of coded_lists().
  void place_unpacked();

  std::size_t size() const { return added_.size(); }
  /// Upper bound of the documents that the added queries find.
  std::uint64_t max_documents() const { return max_documents_; }
  /// Words of space for all parts' results; an upper bound before finish().
  std::uint64_t result_words() const { return result_words_; }

  std::vector<IntersectList> lists;
  std::vector<std::uint32_t> terms;       ///< numbers of lists
  std::vector<IntersectQuery> queries;    ///< in the kernels' order
  std::vector<std::uint32_t> places;      ///< places[i]: where the query added i-th is in `queries`
  std::vector<std::uint32_t> raw_docids;  ///< of short lists
  std::vector<UnpackTask> unpack;
  std::uint32_t coded_queries = 0, coded_parts = 0, parts = 0;
  std::uint32_t unpack_blocks = 0;   ///< of all tasks
  std::uint64_t unpack_entries = 0;  ///< of all tasks' directories
  std::uint32_t unpack_pieces = 0;   ///< of all tasks: see zeroed_piece
  std::uint64_t unpack_words = 0;    ///< that the tasks write
  std::uint64_t postings = 0;        ///< in the lists of all queries

 private:
  /// How the batch uses a list.
  struct ListUse {
    ListState* state = nullptr;  ///< null if the list is never unpacked
    std::uint64_t postings = 0;  ///< upper bound of what block skipping would decode
    const PostingList* list = nullptr;
    bool is_unpacked_here = false;  ///< by this batch
  };

  /// The list's number in the batch, to which it is added if it is new.
  std::uint32_t list_of(const PostingList& list);
  void add_raw(const PostingList& list, ListView& view);
  bool unpack_list(std::uint32_t number);
  void unpack_frequent();
  /// Cuts a query into parts.
  void cut(IntersectQuery& query);

  const IndexReader& index_;
  UnpackedLists& unpacked_;
  Unpacking unpacking_ = Unpacking::none;
  PartSizes sizes_;
  unsigned flight_ = 0;
  std::unordered_map<term_t, std::uint32_t> known_;
  std::vector<ListUse> uses_;                  ///< of `lists`
  std::vector<std::uint32_t> unpack_numbers_;  ///< of the lists of `unpack`
  std::vector<IntersectQuery> added_;
  std::uint64_t result_words_ = 0, next_word_ = 0, max_documents_ = 0;
};

}  // namespace quern::gpu
