#pragma once
#include "quern/gpu/device/memory_division.hpp"
#include "quern/search/query_engine.hpp"

/// What an index takes of a GPU's memory. Host code.
namespace quern::gpu {

/// What decoding needs, and what scores need if `scores` is not null: numbers per document and, for quantized scores,
/// impacts.
IndexSizes sizes_of(const IndexReader& index, const QueryEngine* scores);

}  // namespace quern::gpu
