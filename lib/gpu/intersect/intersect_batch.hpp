#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/intersect/unpacked_lists.hpp"
#include "quern/gpu/store/document_windows.hpp"
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
  std::uint32_t first_term = 0, terms = 0;  ///< in IntersectArrays::terms, shortest list first
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
  std::uint32_t postings = 0;     ///< in the blocks that are unpacked
  std::uint32_t first_piece = 0;  ///< number of the first piece of its docIDs or bits among those of all tasks
  std::uint64_t first_entry = 0;  ///< number of its directory's first entry among those of all tasks
};

/// Words that a warp fills with zeros at a time: a piece of a list that is to be unpacked.
inline constexpr std::uint32_t zeroed_piece = 4096;

/// The size of a part, by the format of the shortest list.
struct PartSizes {
  std::uint32_t blocks = 1;            ///< of a coded list
  std::uint32_t documents = 512;       ///< of unpacked docIDs; 0: all in one part
  std::uint32_t words_of_bits = 1024;  ///< of bits
};

/// A batch in host memory, or its part in a window of documents. Kernels take queries that decode lists before the
/// others.
struct IntersectArrays {
  /// In `places`: the query is not there.
  static constexpr std::uint32_t not_there = 0xffffffffu;

  /// Removes all, but keeps memory.
  void clear();
  /// Lets a coded list's blocks be unpacked to a place, which takes `words` with its directory, for `documents`
  /// documents.
  void unpack_to(std::uint32_t list, const UnpackedPlace& place, std::uint64_t words, std::uint32_t documents,
                 std::uint32_t block_size);
  /// Makes `queries` of those added queries for which `left_out` is 0, cuts them into parts, and gives each part its
  /// space for results.
  void cut_all(std::span<const IntersectQuery> added, std::span<const std::uint8_t> left_out, const PartSizes& sizes,
               const IndexReader& index);

  std::vector<IntersectList> lists;
  std::vector<std::uint32_t> terms;       ///< numbers of lists
  std::vector<IntersectQuery> queries;    ///< in the kernels' order
  std::vector<std::uint32_t> places;      ///< places[i]: where the query added i-th is in `queries`, or not_there
  std::vector<std::uint32_t> raw_docids;  ///< of short lists
  std::vector<UnpackTask> unpack;
  std::uint32_t coded_queries = 0, coded_parts = 0, parts = 0;
  std::uint32_t unpack_blocks = 0;   ///< of all tasks
  std::uint64_t unpack_entries = 0;  ///< of all tasks' directories
  std::uint32_t unpack_pieces = 0;   ///< of all tasks: see zeroed_piece
  std::uint64_t unpack_words = 0;    ///< that the tasks write
  std::uint64_t result_words = 0;    ///< of space for all parts' results; an upper bound before queries are cut
  std::uint64_t max_documents = 0;   ///< upper bound of the documents that all queries find
  /// The window's documents: blocks at its borders have others, too.
  std::uint32_t first_docid = 0, end_docid = std::numeric_limits<std::uint32_t>::max();

 private:
  void cut(IntersectQuery& query, const PartSizes& sizes, const IndexReader& index);
};

// Batches of intersections in host memory, and how their lists are used.

/// A batch to which queries are added.
class IntersectBatch : public IntersectArrays {
 public:
  /// Lists are given places in `unpacked`. It and `index` must outlive the batch.
  IntersectBatch(const IndexReader& index, UnpackedLists& unpacked, Unpacking unpacking, const PartSizes& sizes,
                 unsigned flight = 0)
      : index_(index), unpacked_(unpacked) {
    begin(unpacking, sizes, flight);
  }

  /// Removes all queries, but keeps memory. Unpacked lists are used for the batch of this flight until it is released
  /// or cancelled: see UnpackedLists.
  void begin(Unpacking unpacking, const PartSizes& sizes, unsigned flight = 0);
  /// Adds a query with these lists, shortest first. Returns false and adds nothing if a list must be unpacked, but
  /// unpacked lists in use leave too little memory for it.
  bool add(std::span<const PostingList> query_lists);
  /// Decides which lists are unpacked, cuts queries into parts, and gives each part its space for results.
  void finish();
  /// In place of finish(), for a batch that goes by windows of documents: no further lists are unpacked, and queries
  /// are cut for each window.
  void finish_for_windows();
  /// The lists that the batch reads in blocks, and their views, which are valid until another query is added. Views of
  /// lists that it unpacks are set by place_unpacked().
  std::vector<WantedList> coded_lists();
  /// Gives the lists to be unpacked the places of coded_lists().
  void place_unpacked();

  std::size_t size() const { return added_.size(); }
  /// The queries in the order in which they were added, without parts.
  std::span<const IntersectQuery> added() const { return added_; }
  /// The number in `lists` of a list of a query that was added.
  std::uint32_t number_of(const PostingList& list) const { return known_.at(list.number); }
  const IndexReader& index() const { return index_; }
  const PartSizes& sizes() const { return sizes_; }

  std::uint64_t postings = 0;  ///< in the lists of all queries

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
  /// Whether a list must be decoded to answer a query.
  bool decodes(const IntersectQuery& query) const;

  const IndexReader& index_;
  UnpackedLists& unpacked_;
  Unpacking unpacking_ = Unpacking::none;
  PartSizes sizes_;
  unsigned flight_ = 0;
  std::unordered_map<term_t, std::uint32_t> known_;
  std::vector<ListUse> uses_;                  ///< of `lists`
  std::vector<std::uint32_t> unpack_numbers_;  ///< of the lists of `unpack`
  std::vector<IntersectQuery> added_;
};

// Batches of intersections whose lists do not fit a GPU's memory together. Host code, which copies nothing.

/// What kernels take for a window of documents.
struct IntersectWindow {
  WindowLists lists;
  IntersectArrays arrays;
};

/// A batch that goes by windows of documents. Queries that decode a list are answered in each window in which all of
/// their lists have blocks, by these blocks only; those whose lists are all unpacked already, whole in the first one.
/// Lists that are unpacked by windows do not stay: each window's take the place of those of the one before.
class WindowedBatch {
 public:
  /// `wanted`: the lists that are to come by windows, of the batch's coded_lists(), after finish_for_windows().
  /// `format`: documents or buckets if all lists are unpacked in each window, to at most `unpacked_words` words; else
  /// coded. `words`: that a window may have. Throws GpuOutOfMemory if a single range of documents needs more.
  WindowedBatch(std::unique_ptr<IntersectBatch> batch, std::span<const WantedList> wanted, const ListCache& cache,
                std::uint64_t words, ListFormat format, std::uint64_t unpacked_words);

  std::size_t size() const { return windows_->size(); }
  const IntersectBatch& batch() const { return *batch_; }
  /// As DocumentWindows::counts().
  ListCacheCounts counts(const ListCache& cache) const { return windows_->counts(cache); }
  /// Makes a window's arrays, for words that are copied to the arena of lists from `first_word` on.
  void make(std::size_t window, std::uint64_t first_word, IntersectWindow& out) const;

 private:
  /// The entries, an upper bound of postings, that a window may have.
  std::uint64_t max_entries(std::uint64_t unpacked_words) const;
  void unpack(IntersectArrays& arrays) const;
  /// Whether the window can't have a document of the list.
  bool is_empty(const IntersectArrays& arrays, const IntersectList& list) const;

  std::unique_ptr<IntersectBatch> batch_;
  ListFormat format_;
  std::vector<ListView> views_;
  std::vector<std::pair<std::uint32_t, const PostingList*>> coded_;
  std::unique_ptr<DocumentWindows> windows_;
};

}  // namespace quern::gpu
