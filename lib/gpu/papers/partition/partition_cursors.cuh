#pragma once
#include "quern/gpu/decode/serial_decoder.hpp"
#include "quern/gpu/papers/partition/partition_layout.hpp"
#include "quern/gpu/worker/lookup.cuh"

namespace quern::gpu {

inline constexpr std::uint32_t no_more_docids = 0xffffffffu;

/// The cursors of one thread, one per list of its query. The thread decodes blocks by itself, to its own buffers. A
/// damaged block is counted, and its list ends there.
template <Coding coding, bool quantized>
class PartitionCursors {
 public:
  /// `buffer` is the thread block's working memory.
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

  /// Begins a query. Its cursors are before their lists until next_geq(). With `all_freqs`, the frequencies of a block
  /// are decoded together, otherwise one by one if possible.
  __device__ void take(const BatchQuery& query, bool all_freqs) {
    terms_ = batch_.terms + query.first_term;
    num_terms_ = query.terms;
    all_freqs_ = all_freqs;
    for (std::uint32_t t = 0; t < num_terms_; ++t) {
      field(TermField::docid, t) = 0;
      field(TermField::block, t) = 0;
      field(TermField::count, t) = 0;
      field(TermField::freqs_block, t) = 0;
    }
  }

  __device__ std::uint32_t num_terms() const { return num_terms_; }
  __device__ const BatchTerm& term(std::uint32_t t) const { return terms_[t]; }
  __device__ const ListView& list(std::uint32_t t) const { return batch_.lists[terms_[t].list]; }
  __device__ std::uint32_t& field(TermField field, std::uint32_t t) const {
    return fields_[(t * layout_.fields + static_cast<std::uint32_t>(field)) * layout_.threads];
  }

  __device__ std::uint32_t docid(std::uint32_t t) const { return field(TermField::docid, t); }
  __device__ void next(std::uint32_t t) {
    const std::uint32_t place = ++field(TermField::place, t);
    const ListView& of = list(t);
    if (place < field(TermField::count, t))
      field(TermField::docid, t) = docids_of(t, of)[place];
    else
      enter(t, of, of.raw ? 1 : field(TermField::block, t) + 1);
  }
  /// Moves to the first posting with a docID of at least `target`; does not move if it is there already.
  __device__ void next_geq(std::uint32_t t, std::uint32_t target) {
    std::uint32_t count = field(TermField::count, t);
    if (count > 0 && docid(t) >= target) return;
    const ListView& of = list(t);
    if (count == 0 || docids_of(t, of)[count - 1] < target) {
      std::uint32_t block = count == 0 ? 0 : field(TermField::block, t) + 1;
      if (!of.raw) {
        const std::uint32_t* last = index_.block_last + of.first_row;
        block = count == 0 ? lower_bound(last, 0, of.rows, target) : next_row(last, block, of.rows, target);
      }
      enter(t, of, block);
      if (docid(t) >= target) return;
      count = field(TermField::count, t);
    }
    const std::uint32_t* docids = docids_of(t, of);
    const std::uint32_t place = lower_bound(docids, field(TermField::place, t), count, target);
    field(TermField::place, t) = place;
    field(TermField::docid, t) = place < count ? docids[place] : no_more_docids;
    if (place == count && !of.raw) atomicAdd(index_.damaged, 1u);  // rows that don't rise
  }

  /// The term score of the current posting.
  __device__ float term_score(std::uint32_t t) {
    return gpu::term_score<quantized>(index_, term(t).weight, docid(t), value(t));
  }

 private:
  using Decoder = typename SerialDecoderOf<coding>::Type;

  __device__ std::uint64_t buffer_of(std::uint32_t t) const {
    return (std::uint64_t{t} * layout_.threads + threadIdx.x) * layout_.block_size;
  }
  __device__ const std::uint32_t* docids_of(std::uint32_t t, const ListView& of) const {
    return of.raw ? batch_.raw_docids + of.first_word : docids_ + buffer_of(t);
  }

  /// Moves to the first posting of a block. A raw list is a single block.
  __device__ void enter(std::uint32_t t, const ListView& of, std::uint32_t block) {
    std::uint32_t count = 1, docid = no_more_docids;
    if (of.raw && block == 0) {
      count = of.df;
      docid = batch_.raw_docids[of.first_word];
    } else if (!of.raw && block < of.rows) {
      const BlockPlace place = place_of(index_, of, block);
      std::uint32_t* out = docids_ + buffer_of(t);
      Decoder decoder(context_);
      if (decoder.open(place) && decoder.docids(out) && out[place.n - 1] == place.last) {
        count = place.n;
        docid = out[0];
      } else {
        atomicAdd(index_.damaged, 1u);
      }
    }
    field(TermField::docid, t) = docid;
    field(TermField::block, t) = block;
    field(TermField::place, t) = 0;
    field(TermField::count, t) = count;
  }

  /// The frequency (quantized: impact) of the current posting.
  __device__ std::uint32_t value(std::uint32_t t) {
    const ListView& of = list(t);
    const std::uint32_t place = field(TermField::place, t), block = field(TermField::block, t);
    if (of.raw) return batch_.raw_values[of.first_word + place];
    if constexpr (quantized) {
      return value_at(impact_words_of(index_, of, block), place * of.impact_width, of.impact_width);
    } else {
      std::uint32_t* freqs = freqs_ + buffer_of(t);
      if (field(TermField::freqs_block, t) == block + 1) return freqs[place];
      Decoder decoder(context_);
      if (!decoder.open(place_of(index_, of, block))) return 1;
      if (!all_freqs_ && decoder.has_separate_freqs()) return decoder.separate_freq(place);
      if (!decoder.freqs(freqs)) atomicAdd(index_.damaged, 1u);
      field(TermField::freqs_block, t) = block + 1;
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
