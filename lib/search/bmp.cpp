#include "quern/search/list_bitmaps.hpp"
#include "quern/search/list_window.hpp"
#include "quern/search/scoring.hpp"
#include "quern/search/window_schedule.hpp"

namespace quern {
namespace {

/// BMP (Mallia, Suel, Tonellotto: Faster Learned Sparse Retrieval with Block-Max Pruning, SIGIR 2024) for the lists
/// that have bitmaps: blocks of documents are scored only if their upper bounds reach the threshold. The other lists,
/// whose blocks would have few postings each, are added up before, window by window; so bounds have their exact sums.
class BlockMaxPruning {
 public:
  BlockMaxPruning(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
      : context_(context),
        kernels_(query_kernels()),
        threshold_(primed_threshold(context, lists, top.k()), top),
        top_(top),
        sums_(bitmap_window),
        found_(bitmap_window),
        found_together_(std::max<std::size_t>(1, top.k() / 16)) {
    for (const WeightedList& list : lists) {
      const ListBitmap* bitmap = list.weight <= max_bitmap_weight ? context.bitmaps->find(list.list) : nullptr;
      if (bitmap)
        bitmaps_.push_back({bitmap, static_cast<std::int32_t>(list.weight)});
      else
        others_.emplace_back(context, list);
    }
    windows_.resize(bitmaps_.size());
    std::fill_n(sums_.get(), sums_.size(), 0.0f);
  }

  void run() {
    if (context_.budget) return run_within_budget();
    const docid_t documents = context_.index->num_documents();
    for (docid_t begin = 0; begin < documents; begin += std::min(bitmap_window, documents - begin))
      if (const docid_t end = begin + std::min(bitmap_window, documents - begin); context_.some_pass(begin, end))
        score(begin, end);
  }

 private:
  struct WeightedBitmap {
    const ListBitmap* bitmap;
    std::int32_t weight;
  };

  void run_within_budget() {
    const Windows windows(context_.index->num_documents(), bitmap_window);
    const std::vector<double> bounds = bounds_of(windows);
    WindowSchedule schedule(context_, windows, bounds, bitmaps_.size() + others_.size(), threshold_);
    while (const auto window = schedule.next()) {
      if (schedule.goes_back())
        for (ListWindow& list : others_) list.restart(windows.begin(*window));
      score(windows.begin(*window), windows.end(*window));
    }
  }

  /// Upper bounds of the scores in each window.
  std::vector<double> bounds_of(const Windows& windows) {
    std::vector<double> bounds(windows.count());
    for (const ListWindow& list : others_) list.add_bounds(windows, bounds);
    for (std::size_t window = 0; window < bounds.size(); ++window) {
      bound_blocks(window);
      bounds[window] += *std::max_element(bounds_.begin(), bounds_.end());
      if (!context_.some_pass(windows.begin(window), windows.end(window))) bounds[window] = 0;
    }
    return bounds;
  }

  /// Sets bounds_ to what the bitmaps add.
  void bound_blocks(std::size_t window) {
    for (std::size_t i = 0; i < bitmaps_.size(); ++i)
      windows_[i] = bitmaps_[i].bitmap->maxima(window, bitmaps_[i].weight);
    bounds_.fill(0);
    kernels_.add_bitmaps(windows_.data(), windows_.size(), 0, bounds_.data());
  }

  void score(docid_t begin, docid_t end) {
    const std::size_t window = begin / bitmap_window;
    bound_blocks(window);
    if (!can_pass(begin, end)) return;
    if (!others_.empty()) {
      std::fill_n(sums_.get(), bitmap_window, 0.0f);
      for (ListWindow& list : others_) list.add_to(begin, end, sums_.get());
      kernels_.add_greatest(sums_.get(), bounds_.data());
    }
    for (std::size_t i = 0; i < bitmaps_.size(); ++i)
      windows_[i] = bitmaps_[i].bitmap->window(window, bitmaps_[i].weight);
    score_blocks(begin, end);
  }

  /// Whether a document of a window may be a result. All sums are integers that floats hold exactly.
  bool can_pass(docid_t begin, docid_t end) {
    float bound = *std::max_element(bounds_.begin(), bounds_.end());
    for (ListWindow& list : others_) bound += list.bound(begin, end);
    return bound > threshold_.value(begin);
  }

  /// Scores those blocks of a window whose bounds reach the threshold.
  void score_blocks(docid_t begin, docid_t end) {
    std::uint64_t blocks = ~std::uint64_t{0} >> (bitmap_block - 1 - (end - 1 - begin) / bitmap_block);
    float min = threshold_.value(begin);
    for (blocks &= kernels_.blocks_above(bounds_.data(), min); blocks != 0;) {
      const auto block = static_cast<unsigned>(std::countr_zero(blocks));
      blocks &= blocks - 1;
      const docid_t first = begin + block * bitmap_block;
      if (!context_.some_pass(first, first + std::min(bitmap_block, end - first))) continue;
      found_.grow(kernels_.score_block(windows_.data(), windows_.size(), block, sums_.get() + block * bitmap_block,
                                       first, min, found_.from(found_.size()), &context_.statistics->postings_scored));
      if (found_.size() < found_together_) continue;
      take_found();
      min = threshold_.value(first + bitmap_block);
      blocks &= kernels_.blocks_above(bounds_.data(), min);
    }
    take_found();
  }

  void take_found() {
    found_.keep(context_.passing);
    add_all(found_, top_);
    found_.resize(0);
  }

  const ScoringContext& context_;
  const QueryKernels& kernels_;
  Threshold threshold_;
  TopK& top_;
  std::vector<WeightedBitmap> bitmaps_;
  std::vector<BitmapWindow> windows_;  ///< of bitmaps_
  std::vector<ListWindow> others_;
  std::array<float, bitmap_block> bounds_;  ///< of a window's blocks
  ScratchArray<float> sums_;                ///< of a window
  Candidates found_;                        ///< in a window
  std::size_t found_together_;              ///< added together: a few raise the threshold of a large k too little
};

}  // namespace

void run_bmp(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  if (!context.bitmaps) return (context.budget ? run_maxscore : run_wand)(context, lists, top);
  BlockMaxPruning(context, lists, top).run();
}

}  // namespace quern
