#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// A batch whose lists exceed a GPU's memory is processed in windows of documents: neighbouring ranges of docIDs, with
/// the blocks of all lists that contain documents of these. Host code, which copies nothing.
namespace quern::gpu {

/// Neighbouring ranges of range_documents docIDs each.
struct DocumentWindow {
  std::uint32_t first_range = 0, ranges = 0;

  /// The first docID, and the end, which may exceed the number of documents.
  std::uint64_t first_docid() const { return std::uint64_t{first_range} * range_documents; }
  std::uint64_t end_docid() const { return first_docid() + std::uint64_t{ranges} * range_documents; }
};

struct WindowLimits {
  std::uint64_t words = 0;    ///< to copy
  std::uint64_t entries = 0;  ///< space for the entries of all lists
  std::uint32_t ranges = 0;
};

/// A list's blocks in a window, and the words to copy for blocks from `copied` on.
struct WindowBlocks {
  std::uint32_t begin = 0, end = 0, copied = 0;
  std::uint32_t first_word = 0;  ///< of `words`, in the list
  WordView header, words, impacts;

  std::uint64_t copied_words() const { return header.size() + words.size() + impacts.size(); }
};

/// The size of a list in a window, or of all lists before it.
struct WindowSize {
  std::uint64_t words = 0;    ///< that are copied
  std::uint64_t entries = 0;  ///< words in the arena of decoded lists
  std::uint32_t blocks = 0;   ///< that are decoded
};

/// A window's view of the lists of a batch.
struct WindowLists {
  DocumentWindow window;
  std::vector<ListView> lists;   ///< as in BatchLists::views
  EntryPlaces entries_of;        ///< where these are decoded to
  std::uint64_t words = 0;       ///< that are copied
  std::vector<WordCopy> copies;  ///< contiguous in the window; some are empty

  // Working memory of view(), kept because allocating it for thousands of lists takes long.
  std::vector<WindowBlocks> blocks;
  std::vector<WindowSize> sizes;
};

/// Cuts the documents into as few windows as the limits allow, and makes each window's view of the lists. A block with
/// documents in two windows belongs to both. Blocks in a front are not copied. Lists that need no copy keep their
/// views.
class DocumentWindows {
 public:
  /// Throws GpuOutOfMemory if a single range exceeds the limits. The index and the lists must outlive it.
  DocumentWindows(const IndexReader& index, const BatchLists& lists, const ListCache& cache,
                  const WindowLimits& limits);

  std::size_t size() const { return windows_.size(); }
  /// The largest sizes of all windows.
  const WindowLimits& largest() const { return largest_; }
  /// Counts of the lists copied in windows, and of the bytes to copy for all windows. `cache`: the constructor's.
  ListCacheCounts counts(const ListCache& cache) const;
  std::uint64_t copied_words() const { return copied_words_; }
  const DocumentWindow& operator[](std::size_t window) const { return windows_[window]; }
  /// Words that the largest window needs in the arena of decoded lists.
  std::uint64_t entry_room() const { return largest_.entries + lists_.views.size() * start_words(largest_.ranges); }
  /// Makes a window's view of lists copied to the arena of lists from `first_word` on, and decoded to the arena of
  /// decoded lists from `first_entry` on.
  void view(std::size_t window, std::uint64_t first_word, std::uint64_t first_entry, WindowLists& out) const;

 private:
  struct Coded {
    std::uint32_t number = 0;  ///< in the batch
    const PostingList* list = nullptr;
    KeptFront front;
  };
  static constexpr std::size_t copies_per_list = 3;  ///< header, coded words, impacts
  /// Per coded list, the first block whose last docID is not below a range's first docID.
  using Places = std::vector<std::uint32_t>;
  using SharedPlaces = std::shared_ptr<const Places>;

  void cut(const WindowLimits& limits);
  /// Adds a window that begins where the last one ends, or its halves if it is too large.
  void add(const DocumentWindow& window, const SharedPlaces& end, const WindowLimits& limits);
  /// The places of `range`, which lie between `low` and `high`.
  SharedPlaces places_of(std::uint32_t range, const Places& low, const Places& high) const;
  /// The blocks from `begin` to `next`, the first that ends after the window.
  WindowBlocks blocks_of(const Coded& coded, std::uint32_t begin, std::uint32_t next) const;
  /// Without `blocks`.
  WindowSize size_of(const Places& begin, const Places& end) const;
  std::uint64_t entries_of(const Coded& coded, const WindowBlocks& blocks) const;
  /// Sets a list's view in a window whose words are copied to `place`.
  static void set_view(const Coded& coded, const WindowBlocks& blocks, std::uint64_t place, ListView& view);
  /// Sets the sizes of all lists in the window, and the blocks of the coded ones.
  void measure(std::size_t window, WindowLists& out) const;
  /// The place of a list's entries, from `first_entry` on.
  EntryPlace entry_place(const ListView& view, std::uint64_t first_entry) const;

  BatchLists lists_;
  docid_t num_documents_;
  std::uint32_t block_size_;
  bool with_impacts_;
  std::vector<Coded> coded_;
  std::vector<std::uint32_t> others_;  ///< numbers of the other lists: raw ones, and those that need no copy
  std::uint64_t raw_entries_ = 0;
  std::vector<DocumentWindow> windows_;
  WindowLimits largest_;
  std::uint64_t copied_words_ = 0;
  std::vector<SharedPlaces> places_;  ///< at each window's begin, and at the end of the last
};

}  // namespace quern::gpu
