#pragma once
#include "quern/gpu/intersect/unpacked_lists.hpp"
#include "quern/gpu/store/document_windows.hpp"

/// Batches of intersections, as kernels take them.
namespace quern::gpu {

/// A list: coded, and perhaps unpacked. A short list's postings are in the batch: format `documents`, coded.raw 1.
struct IntersectList {
  ListView coded;
  UnpackedPlace unpacked;
};

/// A query. Its shortest list is cut into items, each with its own space for results.
struct IntersectQuery {
  std::uint32_t first_term = 0, terms = 0;  ///< in IntersectArrays::terms, shortest list first
  std::uint32_t first_item = 0;
  std::uint32_t item_size = 0;   ///< words per item, of the list and of results: docIDs, or 32 bits each
  std::uint64_t first_word = 0;  ///< of its space for results
  std::uint32_t coded = 0;       ///< 1 if a list must be decoded, else 0
  std::uint32_t bits = 0;        ///< 1 if its results are bits, 0 if they are docIDs
};

/// A list that is unpacked before the batch is answered.
struct UnpackTask {
  ListView list;  ///< list.first_block: the number of its first block among those of all tasks
  UnpackedPlace to;
  std::uint32_t postings = 0;     ///< in the blocks that are unpacked
  std::uint32_t first_tile = 0;   ///< number of its first zeroed tile among those of all tasks
  std::uint64_t first_entry = 0;  ///< number of its directory's first entry among those of all tasks
};

/// Words of an unpacked list that a warp fills with zeros at a time.
inline constexpr std::uint32_t zeroed_tile = 4096;

/// The size of an item, by the format of the shortest list.
struct ItemSizes {
  std::uint32_t blocks = 1;            ///< of a coded list
  std::uint32_t documents = 512;       ///< of unpacked docIDs; 0: one item for all
  std::uint32_t words_of_bits = 1024;  ///< of bits
};

/// Numbers of a batch, or of its queries in a window of documents. Kernels take queries that decode lists first.
struct IntersectSizes {
  std::uint32_t coded_queries = 0, coded_items = 0, items = 0;
  std::uint32_t unpack_blocks = 0;   ///< of all tasks
  std::uint32_t unpack_tiles = 0;    ///< of all tasks: see zeroed_tile
  std::uint64_t unpack_entries = 0;  ///< of all tasks' directories
  /// The window's documents. Blocks at its borders contain others too.
  std::uint32_t first_docid = 0, end_docid = std::numeric_limits<std::uint32_t>::max();
};

/// A batch in host memory, or its queries in a window of documents.
struct IntersectArrays : IntersectSizes {
  static constexpr std::uint32_t not_there = 0xffffffffu;  ///< in `places`: the query is left out

  void clear();
  /// Adds a task that unpacks a list's blocks to a place of `words` words, directory included, for `documents`
  /// documents.
  void unpack_to(std::uint32_t list, const UnpackedPlace& place, std::uint64_t words, std::uint32_t documents,
                 std::uint32_t block_size);
  /// Sets `queries` to the added queries for which `left_out` is 0, cut into items, each with its space for results.
  void cut_all(std::span<const IntersectQuery> added, std::span<const std::uint8_t> left_out, const ItemSizes& sizes,
               const IndexReader& index);

  std::vector<IntersectList> lists;
  std::vector<std::uint32_t> terms;       ///< numbers of lists
  std::vector<IntersectQuery> queries;    ///< in the kernels' order
  std::vector<std::uint32_t> places;      ///< places[i]: where the query added i-th is in `queries`, or not_there
  std::vector<std::uint32_t> raw_docids;  ///< of short lists
  std::vector<UnpackTask> unpack;
  std::uint64_t unpack_words = 0;   ///< that the tasks write
  std::uint64_t result_words = 0;   ///< for all items' results; an upper bound before queries are cut
  std::uint64_t max_documents = 0;  ///< upper bound of the documents that all queries find

 private:
  void cut(IntersectQuery& query, const ItemSizes& sizes, const IndexReader& index);
};

/// A batch to which queries are added.
class IntersectBatch : public IntersectArrays {
 public:
  /// Gives lists places in `unpacked`, which must outlive the batch, as `index` must.
  IntersectBatch(const IndexReader& index, UnpackedLists& unpacked, Unpacking unpacking, const ItemSizes& sizes,
                 unsigned flight = 0)
      : index_(index), unpacked_(unpacked) {
    begin(unpacking, sizes, flight);
  }

  /// Removes all queries, but keeps the memory. The batch uses unpacked lists in the name of this flight, which must
  /// release or cancel them: see UnpackedLists.
  void begin(Unpacking unpacking, const ItemSizes& sizes, unsigned flight = 0);
  /// Adds a query with these lists, shortest first. False, without effect, if a list must be unpacked but unpacked
  /// lists in use leave too little memory.
  bool add(std::span<const PostingList> query_lists);
  /// Decides which lists to unpack, cuts queries into items, and gives each item its space for results.
  void finish();
  /// finish() for a batch that runs in windows: unpacks no further lists, and leaves cutting queries to windows.
  void finish_for_windows() {
    for (IntersectQuery& query : added_) query.coded = decodes(query) ? 1 : 0;
  }
  /// The lists that the batch reads in blocks, and their views, which are valid until another query is added.
  /// place_unpacked() copies the views of lists to unpack to their tasks.
  std::vector<WantedList> coded_lists();
  /// Copies the views that coded_lists() returned to the tasks that unpack these lists.
  void place_unpacked();

  std::size_t size() const { return added_.size(); }
  /// The queries in the order of adding, without items.
  std::span<const IntersectQuery> added() const { return added_; }
  /// The list's number in `lists`, for a list of an added query.
  std::uint32_t number_of(const PostingList& list) const { return known_.at(list.number); }
  const IndexReader& index() const { return index_; }
  const ItemSizes& sizes() const { return sizes_; }

  std::uint64_t postings = 0;  ///< in the lists of all queries

 private:
  struct ListUse {
    ListState* state = nullptr;  ///< null if the list is never unpacked
    std::uint64_t postings = 0;  ///< upper bound of the postings that block skipping would decode
    const PostingList* list = nullptr;
    bool is_unpacked_here = false;  ///< this batch unpacks it
  };

  /// The list's number in the batch. Adds the list if it is new.
  std::uint32_t list_of(const PostingList& list);
  void add_raw(const PostingList& list, ListView& view);
  bool unpack_list(std::uint32_t number);
  void unpack_frequent();
  /// Whether a list must be decoded to answer a query.
  bool decodes(const IntersectQuery& query) const;

  const IndexReader& index_;
  UnpackedLists& unpacked_;
  Unpacking unpacking_ = Unpacking::none;
  ItemSizes sizes_;
  unsigned flight_ = 0;
  std::unordered_map<term_t, std::uint32_t> known_;
  std::vector<ListUse> uses_;                  ///< of `lists`
  std::vector<std::uint32_t> unpack_numbers_;  ///< of the lists of `unpack`
  std::vector<IntersectQuery> added_;
};

/// A batch's lists and queries in a window of documents.
struct IntersectWindow {
  WindowLists lists;
  IntersectArrays arrays;
};

/// A batch that runs in windows of documents. A query that decodes a list is answered in each window in which all of
/// its lists have blocks, by these blocks only; a query whose lists are all unpacked already is answered completely in
/// the first window. Lists unpacked by windows do not stay: each window overwrites those of the previous one.
class WindowedBatch {
 public:
  /// `wanted`: those of the batch's coded_lists(), after finish_for_windows(), that are copied in windows. `format`:
  /// documents or buckets if each window unpacks all lists, to at most `unpacked_words` words; else coded. `words`:
  /// maximum per window. Throws GpuOutOfMemory if a single range of documents needs more.
  WindowedBatch(std::unique_ptr<IntersectBatch> batch, std::span<const WantedList> wanted, const ListCache& cache,
                std::uint64_t words, ListFormat format, std::uint64_t unpacked_words);

  std::size_t size() const { return windows_->size(); }
  const IntersectBatch& batch() const { return *batch_; }
  /// See DocumentWindows::counts().
  ListCacheCounts counts(const ListCache& cache) const { return windows_->counts(cache); }
  /// Makes a window's arrays for words copied to the arena of lists from `first_word` on.
  void make(std::size_t window, std::uint64_t first_word, IntersectWindow& out) const;

 private:
  /// The maximum entries of a window, an upper bound of its postings.
  std::uint64_t max_entries(std::uint64_t unpacked_words) const;
  void unpack(IntersectArrays& arrays) const;
  bool is_empty(const IntersectArrays& arrays, const IntersectList& list) const;

  std::unique_ptr<IntersectBatch> batch_;
  ListFormat format_;
  std::vector<ListView> views_;
  std::vector<std::pair<std::uint32_t, const PostingList*>> coded_;
  std::unique_ptr<DocumentWindows> windows_;
};

}  // namespace quern::gpu
