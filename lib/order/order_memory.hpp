#pragma once
#include <cstdint>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"

/// What making an order needs in memory.
namespace quern {

/// Bytes per document of a permutation, and of a second one while it is computed or inverted.
inline constexpr std::uint64_t permutation_bytes = 2 * sizeof(docid_t);

/// Bytes per document of PageRank by the documents' numbers, and by their docIDs.
inline constexpr std::uint64_t ranks_bytes = 2 * sizeof(float);

/// Throws InvalidArgument if the memory budget can't hold `document_bytes` per document.
void check_order_memory(std::uint64_t num_documents, std::uint64_t document_bytes, const Resources& resources);
/// Throws InvalidArgument if the memory budget can't hold the `needed_bytes` of `what`.
void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources);

}  // namespace quern
