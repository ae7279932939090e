#pragma once
#include "quern/core/simd_level.hpp"
#include "quern/rank/models/tree_program.hpp"

/// The inner loops of models over blocks of documents, written once for each SimdLevel. All give the same bits.
namespace quern {

/// Receives the leaves that documents reach, tree by tree.
struct TreeSums {
  double* sums = nullptr;   ///< of documents_per_block documents, aligned to 64 bytes
  bool to_float32 = false;  ///< whether to round after each tree
};

/// A layer, and arrays for a block of its inputs and outputs: documents_per_block values for each.
struct DenseBlock {
  const DenseLayer* layer = nullptr;
  const float* in = nullptr;
  float* out = nullptr;  ///< before the activation
};

struct RankerKernels {
  /// Fills ranks[d] of one column from values[d], up to a multiple of 32 documents.
  void (*rank)(const RankColumn& column, const float* table, const float* values, unsigned documents,
               std::int8_t* ranks);
  /// Adds the leaves of the trees [first, end), which have steps, to the sums of a block's documents. `ranks` holds the
  /// block's columns one after the other. All documents_per_block sums may change.
  void (*add_trees)(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                    unsigned documents, const TreeSums& sums);
  /// Writes the leaves as float32: documents_per_block values per tree; those past `documents` are arbitrary.
  void (*store_trees)(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                      unsigned documents, float* leaves);
  /// Computes a layer's sums for a block's documents.
  void (*sum_layer)(const DenseBlock& block, unsigned documents);
  /// Whether add_trees() and store_trees() read TreeProgram::planes.
  bool uses_planes;
};

/// One of simd_levels().
const RankerKernels& ranker_kernels_of(SimdLevel level);

extern const RankerKernels portable_ranker_kernels;
#if defined(__AVX2__)
extern const RankerKernels avx2_ranker_kernels, avx512_ranker_kernels;
#endif

}  // namespace quern
