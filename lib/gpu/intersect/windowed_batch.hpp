#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "quern/gpu/intersect/intersect_batch.hpp"
#include "quern/gpu/store/document_windows.hpp"

/// Batches of intersections whose lists do not fit a GPU's memory together. Host code, which copies nothing.
namespace quern::gpu {

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
