#pragma once
#include "quern/gpu/range/range_view.cuh"
#include "quern/gpu/worker/lookup.cuh"

/// Values of entries, except for quantized impacts: impacts in 65535 steps, rounded up.
namespace quern::gpu {

/// The value of a posting with this frequency, of a document with this constant (K_d): an approximate quotient,
/// enlarged so that it is an upper bound.
__device__ inline std::uint32_t value_of_freq(float constant, std::uint32_t freq) {
  const float number = __uint2float_rn(freq);
  return min(__float2uint_ru(__fdividef(number, constant + number) * (value_steps * (1 + 0x1p-18f))), value_steps);
}

/// The only frequency with this value; 0 if there is none, or several, as there may be for frequencies in the hundreds.
/// Values rise with the frequency: the quotient's error is a hundredth of a step, and while neighbours differ by a
/// step, those after them differ by a third of one.
__device__ inline std::uint32_t freq_of_value(float constant, std::uint32_t value) {
  if (value == 0 || value >= value_steps) return 0;
  const float steps = __uint2float_rn(value);
  // The greatest frequency whose impact is not above the value, except for rounding.
  auto freq = static_cast<std::uint32_t>(min(constant * steps / (value_steps - steps), 1e9f));
  if (freq == 0 || value_of_freq(constant, freq) < value) ++freq;
  const bool only = value_of_freq(constant, freq) == value && value_of_freq(constant, freq + 1) > value &&
                    (freq == 1 || value_of_freq(constant, freq - 1) < value);
  return only ? freq : 0;
}

// Decodes each list of a batch once for all queries. A posting becomes an entry of 32 bits, which holds its docID
// within its range and its value, so adding it to a sum takes a few instructions. A warp decodes a block.

/// Clears a list's maxima, by one of `threads` threads.
__device__ inline void clear_maxima(const RangeView& batch, const EntryPlace& place, std::uint32_t thread,
                                    std::uint32_t threads) {
  for (std::uint32_t i = thread; i < batch.ranges; i += threads) batch.range_max(place)[i] = 0;
}

template <Coding coding, int V, bool quantized>
class EntryWriter {
 public:
  __device__ EntryWriter(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), decoder_(index, WarpBuffer<V>{buffer}) {}

  /// Writes the entries of list `number`'s block `own` in the window.
  __device__ void write(std::uint32_t number, std::uint32_t own) {
    const ListView& list = batch_.lists[number];
    const EntryPlace& to_place = batch_.entries_of[number];
    const std::uint32_t block = list.begin_block + own;
    std::uint32_t docids[V], values[V];
    BlockPlace place;
    if (list.raw) {
      place.n = list.df;
      place.before = 0xffffffffu;
      read_raw(list, docids, values);
    } else {
      place = place_of(index_, list, block);
      if (!read_postings<quantized, V>(index_, decoder_, list, block, place, docids, values)) {
        // Entries of value 0 add nothing to scores, and docID 0 is always valid.
#pragma unroll
        for (int i = 0; i < V; ++i) docids[i] = values[i] = 0;
      }
    }
    const std::uint32_t first = block * index_.block_size + lane_id() * V;  // this lane's first posting in the list
    const unsigned count = place.n > lane_id() * V ? min(place.n - lane_id() * V, std::uint32_t{V}) : 0;
    std::uint32_t entries[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (i >= count || docids[i] >= index_.num_documents)
        docids[i] = 0, values[i] = 0;  // a damaged block may hold any docID
      if constexpr (!quantized) values[i] = value_of_freq(index_.constants[docids[i]], values[i]);
      entries[i] = entry_of(docids[i] % range_documents, min(values[i], 0xffffu));
    }
    std::uint32_t* to = batch_.entries + to_place.first_entry + (first - to_place.begin);
    if (count == V) {
#pragma unroll
      for (int i = 0; i < V; i += 4)
        *reinterpret_cast<uint4*>(to + i) = make_uint4(entries[i], entries[i + 1], entries[i + 2], entries[i + 3]);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (i < count) to[i] = entries[i];
    }
    note_starts(batch_.starts(to_place), list, place, docids, first, count);
    if (!batch_.writes_max) return;
    if (list.raw) clear_maxima(batch_, to_place, lane_id(), lanes_per_warp);
    note_max(batch_.range_max(to_place), docids, entries, count);
  }

 private:
  __device__ void read_raw(const ListView& list, std::uint32_t (&docids)[V], std::uint32_t (&values)[V]) const {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const std::uint32_t posting = lane_id() * V + i;
      const bool there = posting < list.df;
      docids[i] = there ? batch_.raw_docids[list.first_word + posting] : 0;
      values[i] = there ? batch_.raw_values[list.first_word + posting] : 0;
    }
  }

  /// Writes the starts of the window's ranges: the first posting in the range or after it.
  __device__ void note_starts(std::uint32_t* starts, const ListView& list, const BlockPlace& place,
                              const std::uint32_t (&docids)[V], std::uint32_t first, unsigned count) const {
    std::uint32_t before = __shfl_up_sync(all_lanes, docids[V - 1], 1);
    if (lane_id() == 0) before = place.before;
    // The next range to start, relative to the window's first. All ranges after the window count as one.
    std::uint32_t next = before + 1 == 0 ? 0 : before / range_documents + 1;
    next = next < batch_.first_range ? 0 : min(next - batch_.first_range, batch_.ranges + 1);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (i >= count) continue;
      if (docids[i] / range_documents < batch_.first_range) continue;
      const std::uint32_t own = min(docids[i] / range_documents - batch_.first_range, batch_.ranges);
      for (; next <= own; ++next) starts[next] = first + i;
    }
    if (count > 0 && first + count == list.df)
      for (; next <= batch_.ranges; ++next) starts[next] = list.df;
  }

  __device__ void note_max(std::uint32_t* maxima, const std::uint32_t (&docids)[V], const std::uint32_t (&entries)[V],
                           unsigned count) const {
    std::uint32_t own = 0, range = count > 0 ? docids[0] / range_documents : 0;
    const std::uint32_t first_range = __shfl_sync(all_lanes, range, 0);
    const bool other =
        count > 0 && (count < V || range != first_range || docids[V - 1] / range_documents != first_range);
    if (!__any_sync(all_lanes, other)) {
#pragma unroll
      for (int i = 0; i < V; ++i) own = max(own, entries[i] & 0xffff);
      own = warp_max(own);
      if (lane_id() == 0) raise_max(maxima, first_range, own);
      return;
    }
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (i >= count) continue;
      const std::uint32_t here = docids[i] / range_documents;
      if (here != range) {
        raise_max(maxima, range, own);
        range = here;
        own = 0;
      }
      own = max(own, entries[i] & 0xffff);
    }
    if (count > 0) raise_max(maxima, range, own);
  }
  __device__ void raise_max(std::uint32_t* maxima, std::uint32_t range, std::uint32_t value) const {
    if (range - batch_.first_range >= batch_.ranges) return;  // not in the window
    atomicMax(maxima + (range - batch_.first_range), value);
  }

  const IndexView& index_;
  const RangeView& batch_;
  typename DecoderOf<coding, V>::Type decoder_;
};

/// Prepares the starts and maxima of coded lists that must be decoded. Starts that no block writes lie after the list.
/// The writer of a raw list sets all of its starts. Called by all thread blocks, a list at a time each.
__device__ inline void clear_starts(const RangeView& batch) {
  for (std::uint32_t number = blockIdx.x; number < batch.num_lists; number += gridDim.x) {
    const EntryPlace& place = batch.entries_of[number];
    if (place.blocks == 0 || batch.lists[number].raw) continue;
    for (std::uint32_t i = threadIdx.x; i <= batch.ranges; i += blockDim.x) batch.starts(place)[i] = 0xffffffffu;
    if (batch.writes_max) clear_maxima(batch, place, threadIdx.x, blockDim.x);
  }
}

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    write_entries(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  __shared__ WarpBuffers<V> buffers;
  EntryWriter<coding, V, quantized> writer(index, batch, begin_decoding<coding>(buffers));
  for_own_blocks(
      batch.blocks, batch.num_lists, [&](std::uint32_t list) { return batch.entries_of[list].first_block; },
      [&](std::uint32_t list, std::uint32_t block) { writer.write(list, block); });
}

}  // namespace quern::gpu
