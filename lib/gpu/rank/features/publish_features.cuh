#pragma once
#include <tuple>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/rank/features/feature_families.hpp"

namespace quern::gpu {

/// The family with a number of FeatureSlot.
template <std::size_t number>
struct NumberedFamily {
  using Type = std::tuple_element_t<number - num_stream_families, DocumentFamilies>;
};
template <std::size_t number>
requires(number < num_stream_families) struct NumberedFamily<number> {
  using Type = std::tuple_element_t<number, StreamFamilies>;
};

/// A document's stream as families take it. `scratch`: space for max_device_terms numbers.
__device__ inline StreamView stream_view(const FeatureBatchView& batch, std::uint32_t number, unsigned stream,
                                         std::uint32_t* scratch) {
  const FeatureBatchDocument& document = batch.documents[number];
  const FeatureBatchQuery& query = batch.queries[document.query];
  const StreamHitsView& hits = batch.streams[stream * batch.stride + number];
  StreamView view;
  view.query = {batch.terms + query.first_term,           query.num_terms,
                batch.sequence + query.first_place,       query.length,
                batch.first_follower + query.first_bound, batch.followers + query.first_follower};
  view.average_length = batch.average_lengths[stream];
  view.k1 = batch.k1;
  view.b = batch.b;
  view.length = hits.length;
  view.phrases = hits.phrases;
  view.hits = batch.hits + hits.first_hit;
  view.num_hits = hits.num_hits;
  view.tf = batch.tf + document.first_tf + stream * query.num_terms;
  view.scratch = scratch;
  return view;
}

__device__ inline DocumentView document_view(const FeatureBatchView& batch, std::uint32_t number,
                                             std::uint32_t* scratch) {
  const FeatureBatchDocument& document = batch.documents[number];
  const PageHead& head = batch.heads[number];
  DocumentView view;
  for (unsigned stream = 0; stream < num_document_streams; ++stream)
    view.streams[stream] = stream_view(batch, number, stream, scratch);
  view.first_stage_score = document.first_stage_score;
  view.pagerank = document.pagerank;
  view.url_bytes = static_cast<double>(head.url_bytes);
  view.url_depth = static_cast<double>(head.url_depth);
  view.links = static_cast<double>(head.links);
  view.out_links = document.out_links;
  view.in_links = document.in_links;
  return view;
}

/// Computes a slot's features of a document, if `family` is the slot's.
template <std::size_t family>
__device__ inline void publish_numbered(const FeatureBatchView& batch, const FeatureSlot& slot, std::uint32_t number) {
  using Family = typename NumberedFamily<family>::Type;
  if (slot.family != family) return;
  std::uint32_t scratch[max_device_terms];
  double values[max_family_values] = {};
  if (number < batch.num_documents) {
    if constexpr (family < num_stream_families)
      Family::publish(stream_view(batch, number, slot.stream, scratch), values);
    else
      Family::publish(document_view(batch, number, scratch), values);
  }
#pragma unroll
  for (unsigned i = 0; i < std::size(Family::features); ++i)
    if (const std::int32_t column = batch.column_of[slot.first_feature + i]; column >= 0)
      batch.columns[column * std::size_t{batch.stride} + number] = static_cast<float>(values[i]);
}

template <std::size_t... families>
__device__ inline void publish_slot(const FeatureBatchView& batch, const FeatureSlot& slot, std::uint32_t number,
                                    std::index_sequence<families...>) {
  (publish_numbered<families>(batch, slot, number), ...);
}

/// The kernel: a warp per family and stream, for 32 documents, so that all lanes do the same (Tadros 2015, section 3.2:
/// a warp per feature). Features after the last document, up to the stride, are 0.
__device__ inline void publish_features(const FeatureBatchView& batch) {
  const FeatureSlot slot = batch.slots[blockIdx.x % batch.num_slots];
  const std::uint32_t number = blockIdx.x / batch.num_slots * blockDim.x + threadIdx.x;
  if (number < batch.stride) publish_slot(batch, slot, number, std::make_index_sequence<num_families>());
}

}  // namespace quern::gpu
