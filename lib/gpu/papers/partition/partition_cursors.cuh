#pragma once
#include "quern/gpu/decode/serial_decoder.hpp"
#include "quern/gpu/papers/partition/partition_layout.hpp"
#include "quern/gpu/worker/lookup.cuh"

namespace quern::gpu {

/// The k best documents of one thread: a heap of rank keys, the worst on top. Keys of neighbouring threads are
/// interleaved in memory. Documents must be added with rising docIDs.
class LocalTop {
 public:
  static constexpr float no_threshold = -1;  ///< below any score

  /// `keys`: k keys for each thread of the thread block.
  __device__ LocalTop(RankKey* keys, std::uint32_t k) : keys_(keys + threadIdx.x), k_(k) {}

  /// Only documents with a score above `threshold` count.
  __device__ void clear(float threshold) {
    size_ = 0;
    threshold_ = threshold;
  }
  /// The score that later documents must exceed.
  __device__ float threshold() const { return threshold_; }
  __device__ void add(std::uint32_t docid, float score) {
    if (!(score > threshold_)) return;
    const RankKey key = rank_key(score, docid);
    if (size_ < k_)
      push(key);
    else
      sift_down(key, size_);
    if (size_ == k_) threshold_ = score_of_key(at(0));
  }
  /// Sorts the keys, best first. No document may be added afterwards.
  __device__ void sort() {
    for (std::uint32_t end = size_; end > 1; --end) {
      const RankKey worst = at(0), last = at(end - 1);
      sift_down(last, end - 1);
      at(end - 1) = worst;
    }
  }
  __device__ std::uint32_t size() const { return size_; }
  __device__ RankKey operator[](std::uint32_t i) const { return at(i); }

 private:
  __device__ RankKey& at(std::uint32_t i) const { return keys_[std::uint64_t{i} * blockDim.x]; }

  __device__ void push(RankKey key) {
    std::uint32_t place = size_++;
    for (; place > 0; place = (place - 1) / 2) {
      const RankKey above = at((place - 1) / 2);
      if (above >= key) break;
      at(place) = above;
    }
    at(place) = key;
  }
  /// Replaces the top key, in a heap of `size`.
  __device__ void sift_down(RankKey key, std::uint32_t size) {
    std::uint32_t place = 0;
    for (;;) {
      std::uint32_t child = 2 * place + 1;
      if (child >= size) break;
      RankKey worst = at(child);
      if (child + 1 < size && at(child + 1) > worst) worst = at(++child);
      if (worst <= key) break;
      at(place) = worst;
      place = child;
    }
    at(place) = key;
  }

  RankKey* keys_;
  std::uint32_t k_, size_ = 0;
  float threshold_ = no_threshold;
};

/// Writes the k best of all threads' keys to `results`; returns their number. `bests`: two keys per warp. By all
/// threads.
__device__ inline std::uint32_t merge_tops(LocalTop& top, std::uint32_t k, RankKey* results, RankKey* bests) {
  constexpr RankKey none = ~RankKey{0};
  const unsigned warps = blockDim.x / lanes_per_warp;
  top.sort();
  std::uint32_t next = 0;
  for (std::uint32_t merged = 0; merged < k; ++merged) {
    const RankKey own = next < top.size() ? top[next] : none;
    RankKey best = own;
    for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
      best = min(best, static_cast<RankKey>(__shfl_xor_sync(all_lanes, best, distance)));
    // Two arrays alternate, so that no warp overwrites what another still reads.
    RankKey* warp_bests = bests + merged % 2 * warps;
    if (lane_id() == 0) warp_bests[threadIdx.x / lanes_per_warp] = best;
    __syncthreads();
    for (unsigned warp = 0; warp < warps; ++warp) best = min(best, warp_bests[warp]);
    if (best == none) return merged;
    if (own == best) {
      results[merged] = best;
      ++next;
    }
  }
  return k;
}

inline constexpr std::uint32_t no_more_docids = 0xffffffffu;

/// The cursors of one thread, one per list of its query. The thread decodes blocks serially, to its own buffers. A
/// damaged block is counted, and ends its list.
template <Coding coding, bool quantized>
class PartitionCursors {
 public:
  /// `buffer`: the thread block's working memory.
  __device__ PartitionCursors(const IndexView& index, const BatchView& batch, const PartitionLayout& layout,
                              std::uint32_t* buffer)
      : index_(index),
        batch_(batch),
        layout_(layout),
        fields_(buffer + layout.fields_word + threadIdx.x),
        docids_(buffer + layout.docids_word),
        freqs_(buffer + layout.freqs_word) {
    if constexpr (coding == Coding::rpfd) context_.shape = rpfd_shapes + index.recursion;
    context_.nested = buffer + layout.nested_word + threadIdx.x * layout.nested;
    context_.block_size = index.block_size;
    context_.num_documents = index.num_documents;
  }

  /// Begins a query. Cursors are before their lists until next_geq(). With `all_freqs`, decodes all frequencies of a
  /// block at once, otherwise single ones if possible.
  __device__ void take(const BatchQuery& query, bool all_freqs) {
    terms_ = batch_.terms + query.first_term;
    num_terms_ = query.terms;
    all_freqs_ = all_freqs;
    for (std::uint32_t t = 0; t < num_terms_; ++t) {
      field(CursorField::docid, t) = 0;
      field(CursorField::block, t) = 0;
      field(CursorField::count, t) = 0;
      field(CursorField::freqs_block, t) = 0;
    }
  }

  __device__ std::uint32_t num_terms() const { return num_terms_; }
  __device__ const BatchTerm& term(std::uint32_t t) const { return terms_[t]; }
  __device__ const ListView& list(std::uint32_t t) const { return batch_.lists[terms_[t].list]; }
  __device__ std::uint32_t& field(CursorField field, std::uint32_t t) const {
    return fields_[(t * layout_.fields + static_cast<std::uint32_t>(field)) * layout_.threads];
  }

  __device__ std::uint32_t docid(std::uint32_t t) const { return field(CursorField::docid, t); }
  __device__ void next(std::uint32_t t) {
    const std::uint32_t place = ++field(CursorField::place, t);
    const ListView& view = list(t);
    if (place < field(CursorField::count, t))
      field(CursorField::docid, t) = docids_of(t, view)[place];
    else
      enter(t, view, view.raw ? 1 : field(CursorField::block, t) + 1);
  }
  /// Moves to the first posting from the current one on with a docID of at least `target`.
  __device__ void next_geq(std::uint32_t t, std::uint32_t target) {
    std::uint32_t count = field(CursorField::count, t);
    if (count > 0 && docid(t) >= target) return;
    const ListView& view = list(t);
    if (count == 0 || docids_of(t, view)[count - 1] < target) {
      std::uint32_t block = count == 0 ? 0 : field(CursorField::block, t) + 1;
      if (!view.raw) {
        const std::uint32_t* last = index_.block_last + view.first_row;
        block = count == 0 ? lower_bound(last, 0, view.rows, target) : next_row(last, block, view.rows, target);
      }
      enter(t, view, block);
      if (docid(t) >= target) return;
      count = field(CursorField::count, t);
    }
    const std::uint32_t* docids = docids_of(t, view);
    const std::uint32_t place = lower_bound(docids, field(CursorField::place, t), count, target);
    field(CursorField::place, t) = place;
    field(CursorField::docid, t) = place < count ? docids[place] : no_more_docids;
    if (place == count && !view.raw) atomicAdd(index_.damaged, 1u);  // rows that don't rise
  }

  __device__ float term_score(std::uint32_t t) {
    return gpu::term_score<quantized>(index_, term(t).weight, docid(t), value(t));
  }

 private:
  using Decoder = typename SerialDecoderOf<coding>::Type;

  __device__ std::uint64_t buffer_of(std::uint32_t t) const {
    return (std::uint64_t{t} * layout_.threads + threadIdx.x) * layout_.block_size;
  }
  __device__ const std::uint32_t* docids_of(std::uint32_t t, const ListView& view) const {
    return view.raw ? batch_.raw_docids + view.first_word : docids_ + buffer_of(t);
  }

  /// Moves to the first posting of a block. A raw list is a single block.
  __device__ void enter(std::uint32_t t, const ListView& view, std::uint32_t block) {
    std::uint32_t count = 1, docid = no_more_docids;
    if (view.raw && block == 0) {
      count = view.df;
      docid = batch_.raw_docids[view.first_word];
    } else if (!view.raw && block < view.rows) {
      const BlockPlace place = place_of(index_, view, block);
      std::uint32_t* out = docids_ + buffer_of(t);
      Decoder decoder(context_);
      if (decoder.open(place) && decoder.docids(out) && out[place.n - 1] == place.last) {
        count = place.n;
        docid = out[0];
      } else {
        atomicAdd(index_.damaged, 1u);
      }
    }
    field(CursorField::docid, t) = docid;
    field(CursorField::block, t) = block;
    field(CursorField::place, t) = 0;
    field(CursorField::count, t) = count;
  }

  /// The frequency (quantized: impact) of the current posting.
  __device__ std::uint32_t value(std::uint32_t t) {
    const ListView& view = list(t);
    const std::uint32_t place = field(CursorField::place, t), block = field(CursorField::block, t);
    if (view.raw) return batch_.raw_values[view.first_word + place];
    if constexpr (quantized) {
      return value_at(impact_words_of(index_, view, block), place * view.impact_width, view.impact_width);
    } else {
      std::uint32_t* freqs = freqs_ + buffer_of(t);
      if (field(CursorField::freqs_block, t) == block + 1) return freqs[place];
      Decoder decoder(context_);
      if (!decoder.open(place_of(index_, view, block))) return 1;
      if constexpr (Decoder::has_separate_freqs) {
        if (!all_freqs_) {
          const std::uint32_t freq = decoder.separate_freq(place);
          if (freq == 0) atomicAdd(index_.damaged, 1u);
          return freq;
        }
      }
      if (!decoder.freqs(freqs)) atomicAdd(index_.damaged, 1u);
      field(CursorField::freqs_block, t) = block + 1;
      return freqs[place];
    }
  }

  const IndexView& index_;
  const BatchView& batch_;
  const PartitionLayout& layout_;
  std::uint32_t *fields_, *docids_, *freqs_;
  SerialContext context_;
  const BatchTerm* terms_ = nullptr;
  std::uint32_t num_terms_ = 0;
  bool all_freqs_ = false;
};

}  // namespace quern::gpu
