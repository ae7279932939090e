#pragma once
#include <mma.h>

#include "quern/gpu/rank/models/layer_kernels.cuh"

namespace quern::gpu {

/// A wide layer by tensor cores, with products of TF32 numbers (10 bits of fraction) summed in the tensor cores' order,
/// so scores differ from the CPU's. Each warp has 16 documents and half of the neurons.
struct FastLayer {
  static constexpr unsigned threads = layer_threads;

  LayerView layer;

  __device__ void operator()(std::uint32_t*) const {
    __shared__ WideStep::Memory memory[2];
    const WidePlace place(layer);
    Sums sums[2];
    for (Sums& each : sums) nvcuda::wmma::fill_fragment(each, 0.0f);
    for_each_step(layer, place, memory, [&](const WideStep::Memory& from, std::uint32_t) {
      add_products(from, sums);  // zeros follow the last input
    });
    auto* all = reinterpret_cast<float*>(memory[0].inputs);
    static_assert(sizeof(WideStep::Memory) >= sizeof(float) * wide_outputs * tile_documents);
    for (unsigned j = 0; j < 2; ++j)
      nvcuda::wmma::store_matrix_sync(all + (first_output() + j * side) * tile_documents + first_document(), sums[j],
                                      tile_documents, nvcuda::wmma::mem_col_major);
    __syncthreads();
    for (unsigned i = threadIdx.x / lanes_per_warp; i < wide_outputs; i += threads / lanes_per_warp)
      if (const std::uint32_t output = place.output + i; output < layer.size.outputs)
        layer.put(output, place.document + lane_id(), layer.bias[output] + all[i * tile_documents + lane_id()]);
  }

 private:
  static constexpr int side = 16, depth = 8;
  using Inputs = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, side, side, depth, nvcuda::wmma::precision::tf32,
                                        nvcuda::wmma::col_major>;
  using Weights = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, side, side, depth, nvcuda::wmma::precision::tf32,
                                         nvcuda::wmma::row_major>;
  using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, side, side, depth, float>;

  __device__ static unsigned first_document() { return threadIdx.x / lanes_per_warp % 2 * side; }
  __device__ static unsigned first_output() { return threadIdx.x / lanes_per_warp / 2 * (wide_outputs / 2); }

  template <class Fragment>
  __device__ static void round(Fragment& fragment) {
#pragma unroll
    for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = nvcuda::wmma::__float_to_tf32(fragment.x[i]);
  }

  __device__ static void add_products(const WideStep::Memory& from, Sums (&sums)[2]) {
    const auto* inputs = reinterpret_cast<const float*>(from.inputs) + first_document();
    const auto* weights = reinterpret_cast<const float*>(from.weights) + first_output();
#pragma unroll
    for (unsigned i = 0; i < wide_inputs; i += depth) {
      Inputs in;
      nvcuda::wmma::load_matrix_sync(in, inputs + i * tile_documents, tile_documents);
      round(in);
#pragma unroll
      for (unsigned j = 0; j < 2; ++j) {
        Weights by;
        nvcuda::wmma::load_matrix_sync(by, weights + i * wide_outputs + j * side, wide_outputs);
        round(by);
        nvcuda::wmma::mma_sync(sums[j], in, by, sums[j]);
      }
    }
  }
};

}  // namespace quern::gpu
