#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/rank/features/device_segment.hpp"
#include "quern/gpu/rank/features/feature_batch.hpp"

namespace quern::gpu {

/// Totals of a stream so far; lane s holds those of stream s.
struct StreamState {
  std::uint32_t length = 0, phrases = 0, hits = 0;
  std::uint32_t in_phrase = 0;  ///< 1 if a token follows the last end of a phrase

  __device__ StreamState from_lane(unsigned lane) const {
    return {__shfl_sync(all_lanes, length, lane), __shfl_sync(all_lanes, phrases, lane),
            __shfl_sync(all_lanes, hits, lane), __shfl_sync(all_lanes, in_phrase, lane)};
  }
};

/// Hits of a document that a warp keeps until their destination is known. With more, the document is read again.
inline constexpr std::uint32_t max_kept_hits = 96;

/// A hit with its number in its stream.
struct KeptHit {
  WordHit hit;
  std::uint32_t stream, place;
};

/// Groups of 32 places whose ids are loaded together, since their loads are independent.
inline constexpr unsigned groups_per_load = 4;

/// Reads a document by a whole warp, 32 places at a time, like DocumentHits. Each lane looks for one term of the query.
class DocumentScan {
 public:
  __device__ DocumentScan(const FeatureBatchView& batch, const FeatureBatchDocument& document)
      : batch_(batch), document_(document), query_(batch.queries[document.query]) {}

  /// Calls found(number of the hit in the document, KeptHit) in the lanes of hits, and count(stream, hits of the lane's
  /// term) in all lanes for each segment with places in the stream. False if the document is damaged.
  template <class Found, class Count>
  __device__ bool read(Found&& found, Count&& count) {
    state_ = StreamState();
    all_hits_ = 0;
    SegmentCursor cursor{{batch_.words}, document_.begin, document_.begin + document_.bytes};
    head_.url_bytes = cursor.varint();
    head_.url_depth = cursor.varint();
    head_.links = cursor.varint();
    while (cursor.sound && cursor.at < cursor.end) {
      const DeviceSegment segment = read_segment(cursor, query_.index_terms);
      if (cursor.sound) read_segment_places(segment, found, count);
    }
    state_.phrases += state_.in_phrase;
    return cursor.sound;
  }
  /// After read(): the totals of the stream with this lane's number, and the document's head.
  __device__ const StreamState& state() const { return state_; }
  __device__ const PageHead& head() const { return head_; }

 private:
  /// The id of this lane's term in the segment; 0 if there is none.
  __device__ std::uint32_t id_in(const DeviceSegment& segment) const {
    if (lane_id() >= query_.num_terms) return 0;
    const SoughtTerm& sought = batch_.sought[query_.first_term + lane_id()];
    if (sought.number != SoughtTerm::no_number) return id_of_term({batch_.words}, segment, sought.number);
    return id_of_literal({batch_.words}, segment, batch_.texts + sought.text, sought.text_bytes);
  }

  template <class Found, class Count>
  __device__ void read_segment_places(const DeviceSegment& segment, Found&& found, Count&& count) {
    const std::uint32_t id = id_in(segment);
    const unsigned sought = __ballot_sync(all_lanes, id != 0);
    std::uint64_t bit = segment.ids;
    for (unsigned stream = 0; stream < num_document_streams; ++stream) {
      const std::uint32_t places = segment.stream_places[stream];
      if (places == 0) continue;
      StreamState state = state_.from_lane(stream);
      std::uint32_t tf = 0;
      for (std::uint32_t done = 0; done < places; done += groups_per_load * lanes_per_warp) {
        std::uint32_t ids[groups_per_load];
#pragma unroll
        for (unsigned group = 0; group < groups_per_load; ++group) {
          const std::uint32_t place = done + group * lanes_per_warp + lane_id();
          ids[group] = place >= places
                           ? 0
                           : BitWords{batch_.words}.at(bit + std::uint64_t{place} * segment.id_bits, segment.id_bits);
        }
#pragma unroll
        for (unsigned group = 0; group < groups_per_load; ++group) {
          const std::uint32_t before = done + group * lanes_per_warp;
          if (before >= places) break;
          tf += read_places(ids[group], min(places - before, lanes_per_warp), {id, sought}, stream, state, found);
        }
      }
      count(stream, tf);
      if (lane_id() == stream) state_ = state;
      bit += std::uint64_t{places} * segment.id_bits;
    }
  }

  /// The terms of a segment: this lane's id, and the lanes that have an id.
  struct Sought {
    std::uint32_t id;
    unsigned lanes;
  };

  /// Reads the next `some` places, of which lane i has the i-th id. Returns the number of this lane's term.
  template <class Found>
  __device__ std::uint32_t read_places(std::uint32_t id, std::uint32_t some, const Sought& sought, unsigned stream,
                                       StreamState& state, Found&& found) {
    const unsigned valid = all_lanes >> (lanes_per_warp - some), ends = __ballot_sync(all_lanes, id == 0) & valid,
                   tokens = valid & ~ends;
    // An end after a token ends a phrase; an end after another end, or at the begin of the stream, does not.
    const unsigned phrase_ends = ends & (tokens << 1 | state.in_phrase);
    unsigned hits = 0;
    std::uint32_t word = 0, tf = 0;
    for (unsigned left = sought.lanes; left != 0; left &= left - 1) {
      const unsigned term = __ffs(left) - 1;
      const unsigned same = __ballot_sync(all_lanes, id == __shfl_sync(all_lanes, sought.id, term));
      hits |= same;
      if ((same >> lane_id() & 1) != 0) word = term;
      if (lane_id() == term) tf = __popc(same);
    }
    if (const unsigned before = (1u << lane_id()) - 1; (hits >> lane_id() & 1) != 0)
      found(all_hits_ + __popc(hits & before),
            KeptHit{{word, state.length + __popc(tokens & before), state.phrases + __popc(phrase_ends & before)},
                    stream,
                    state.hits + __popc(hits & before)});
    state.hits += __popc(hits);
    all_hits_ += __popc(hits);
    state.length += __popc(tokens);
    state.phrases += __popc(phrase_ends);
    state.in_phrase = tokens >> (some - 1) & 1;
    return tf;
  }

  const FeatureBatchView& batch_;
  const FeatureBatchDocument& document_;
  const FeatureBatchQuery& query_;
  StreamState state_;
  PageHead head_;
  std::uint32_t all_hits_ = 0;
};

/// Counts a document's hits, and writes them if there is space, by a whole warp. `kept`: memory for max_kept_hits hits.
__device__ inline void find_hits_of(const FeatureBatchView& batch, std::uint32_t number, KeptHit* kept) {
  const FeatureBatchDocument& document = batch.documents[number];
  const std::uint32_t num_terms = batch.queries[document.query].num_terms;
  std::uint32_t* const tf = batch.tf + document.first_tf + lane_id();  // of this lane's term
  if (lane_id() < num_terms)
    for (unsigned stream = 0; stream < num_document_streams; ++stream) tf[stream * num_terms] = 0;
  DocumentScan scan(batch, document);
  const bool sound = scan.read(
      [&](std::uint32_t place, const KeptHit& hit) {
        if (place < max_kept_hits) kept[place] = hit;
      },
      [&](unsigned stream, std::uint32_t hits) {
        if (lane_id() < num_terms) tf[stream * num_terms] += hits;
      });
  StreamState state = scan.state();
  if (!sound) state = StreamState();
  // Lanes after the streams have no hits.
  const std::uint32_t up_to = inclusive_sum(state.hits), all = last_lane(up_to);
  unsigned long long first = 0;
  if (lane_id() == 0) {
    if (!sound) atomicAdd(&batch.counters->damaged, 1u);
    if (all != 0) first = atomicAdd(&batch.counters->hits, static_cast<unsigned long long>(all));
    batch.heads[number] = scan.head();
  }
  first = __shfl_sync(all_lanes, first, 0);
  const bool has_room = sound && first + all <= batch.hits_room;
  const auto first_hit = static_cast<std::uint32_t>(first) + up_to - state.hits;
  if (lane_id() < num_document_streams)
    batch.streams[lane_id() * batch.stride + number] = {state.length, state.phrases, first_hit,
                                                        has_room ? state.hits : 0};
  if (!has_room || all == 0) return;
  __syncwarp();  // lanes read hits that others wrote
  const auto put = [&](std::uint32_t, const KeptHit& hit) {
    batch.hits[batch.streams[hit.stream * batch.stride + number].first_hit + hit.place] = hit.hit;
  };
  if (all <= max_kept_hits)
    for (std::uint32_t place = lane_id(); place < all; place += lanes_per_warp) put(place, kept[place]);
  else
    scan.read(put, [](unsigned, std::uint32_t) {});
  __syncwarp();  // kept hits must be read before the next document overwrites them
}

inline constexpr unsigned find_threads = 128;

/// The kernel: a warp per document. Hits are counted even if there is no space for them.
__device__ inline void find_hits(const FeatureBatchView& batch) {
  __shared__ KeptHit kept[find_threads / lanes_per_warp][max_kept_hits];
  constexpr unsigned warps = find_threads / lanes_per_warp;
  for (std::uint32_t number = blockIdx.x * warps + threadIdx.x / lanes_per_warp; number < batch.num_documents;
       number += gridDim.x * warps)
    find_hits_of(batch, number, kept[threadIdx.x / lanes_per_warp]);
}

}  // namespace quern::gpu
