#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/store/extents.hpp"
#include "quern/gpu/store/list_cache.hpp"

/// Batches whose lists do not fit a GPU's memory together go through the documents by windows: neighbouring ranges of
/// docIDs, with those blocks of all lists that have documents there. Host code, which copies nothing.
namespace quern::gpu {

/// Neighbouring ranges of range_documents docIDs each.
struct DocumentWindow {
  std::uint32_t first_range = 0, ranges = 0;

  /// The first document, and where the last one ends, which may be behind the collection's last.
  std::uint64_t first_docid() const { return std::uint64_t{first_range} * range_documents; }
  std::uint64_t end_docid() const { return first_docid() + std::uint64_t{ranges} * range_documents; }
};

/// What a window may have.
struct WindowLimits {
  std::uint64_t words = 0;    ///< that are copied for it
  std::uint64_t entries = 0;  ///< space for the entries of all lists
  std::uint32_t ranges = 0;
};

/// What a list has in a window: blocks and, of those from `copied` on, the words that are copied.
struct WindowBlocks {
  std::uint32_t begin = 0, end = 0, copied = 0;
  std::uint32_t first_word = 0;  ///< of `words`, in the list
  WordView header, words, impacts;

  std::uint64_t copied_words() const { return header.size() + words.size() + impacts.size(); }
};

/// What a list takes in a window, or all lists before it take.
struct WindowSize {
  std::uint64_t words = 0;    ///< that are copied
  std::uint64_t entries = 0;  ///< words of the arena of decoded lists
  std::uint32_t blocks = 0;   ///< that are decoded
};

/// A window's view of the lists of a batch.
struct WindowLists {
  DocumentWindow window;
  std::vector<ListView> lists;  ///< as in BatchLists::views
  EntryPlaces entries_of;       ///< where these are decoded to
  std::uint64_t words = 0;      ///< that are copied
  std::vector<WordPart> parts;  ///< which follow each other; some are empty

  // What view() computes on the way. Kept, since memory is slow to come by for thousands of lists.
  std::vector<WindowBlocks> blocks;
  std::vector<WindowSize> sizes;
};

/// Cuts the documents into as few windows as limits allow, and makes each window's view. Blocks that have documents in
/// two windows are in both. Blocks of fronts that the cache keeps are not copied. Lists that are not to be brought keep
/// their views.
class DocumentWindows {
 public:
  /// Throws GpuOutOfMemory if the blocks of a single range are too much. The index, and what `lists` and `cache` refer
  /// to, must outlive it.
  DocumentWindows(const IndexReader& index, const BatchLists& lists, const ListCache& cache,
                  const WindowLimits& limits);

  std::size_t size() const { return windows_.size(); }
  /// The most that a window has of each.
  const WindowLimits& largest() const { return largest_; }
  /// The lists that come by windows, and what is copied for all windows. `cache`: the one of the constructor.
  ListCacheCounts counts(const ListCache& cache) const;
  /// Words that are copied for all windows.
  std::uint64_t copied_words() const { return copied_words_; }
  const DocumentWindow& operator[](std::size_t window) const { return windows_[window]; }
  /// Words of the arena of decoded lists that each window needs.
  std::uint64_t entry_room() const;
  /// Makes a window's view, for words that are copied to the arena of lists from `first_word` on, and are decoded to
  /// the arena of decoded lists from `first_entry` on.
  void view(std::size_t window, std::uint64_t first_word, std::uint64_t first_entry, WindowLists& out) const;

 private:
  /// A coded list of the batch.
  struct Coded {
    std::uint32_t number = 0;  ///< in the batch
    const PostingList* list = nullptr;
    KeptFront front;
  };
  /// Header, coded words, impacts.
  static constexpr std::size_t parts_per_list = 3;
  struct Size {
    std::uint64_t words = 0, entries = 0;
  };
  /// Per coded list, the first block with a docID that is not below the first of a range.
  using Places = std::vector<std::uint32_t>;
  using SharedPlaces = std::shared_ptr<const Places>;

  void cut(const WindowLimits& limits);
  /// Adds a window that begins where the last one ends, or its halves.
  void add(const DocumentWindow& window, const SharedPlaces& end, const WindowLimits& limits);
  /// The places of `range`, which are not before those of `low` nor after those of `high`.
  SharedPlaces places_of(std::uint32_t range, const Places& low, const Places& high) const;
  /// The blocks from `begin` up to `next`, the first that reaches beyond the window.
  WindowBlocks blocks_of(const Coded& coded, std::uint32_t begin, std::uint32_t next) const;
  Size size_of(const Places& begin, const Places& end) const;
  std::uint64_t entries_of(const Coded& coded, const WindowBlocks& blocks) const;
  /// Sets a list's view in a window, for words that are copied to `place`.
  static void set_view(const Coded& coded, const WindowBlocks& blocks, std::uint64_t place, ListView& view);
  /// Sets the sizes of all lists in the window, and the blocks of those that are brought.
  void measure(std::size_t window, WindowLists& out) const;
  /// The place of a list's entries, from `first_entry` on.
  EntryPlace entry_place(const ListView& view, std::uint64_t first_entry) const;

  BatchLists lists_;
  docid_t num_documents_;
  std::uint32_t block_size_;
  bool with_impacts_;
  std::vector<Coded> coded_;
  std::vector<std::uint32_t> others_;  ///< numbers of the other lists: raw ones, and what needs not be brought
  std::uint64_t raw_entries_ = 0;
  std::vector<DocumentWindow> windows_;
  WindowLimits largest_;
  std::uint64_t copied_words_ = 0;
  std::vector<SharedPlaces> places_;  ///< at the beginning of each window, and at the end of the last
};

}  // namespace quern::gpu
