#pragma once
#include "quern/gpu/rank/models/input_kernels.cuh"

/// Layers of networks. A neuron's sum begins with its bias and adds products in the CPU's order, for the same bits.
namespace quern::gpu {

/// A layer, its inputs in rows of `stride` documents, and the destination of its outputs: rows, or scores.
struct LayerView {
  const float* weights = nullptr;
  const float* bias = nullptr;
  LayerPlace size;
  const float* in = nullptr;
  float* out = nullptr;
  std::size_t stride = 0, documents = 0;
  double* scores = nullptr;  ///< only for the last layer

  __device__ void put(std::uint32_t output, std::size_t document, float sum) const {
    const float value = activate(size.activation, sum);
    if (scores == nullptr)
      out[output * stride + document] = value;
    else if (document < documents)
      scores[document] = settled(static_cast<double>(value));
  }
};

/// Four values of a row, or zeros beyond `rows`.
__device__ inline float4 four_of(const float* from, std::size_t stride, std::uint32_t row, std::uint32_t rows,
                                 std::size_t column, std::size_t columns) {
  if (row >= rows || column >= columns) return make_float4(0, 0, 0, 0);
  return *reinterpret_cast<const float4*>(from + row * stride + column);
}

/// The next wide_inputs inputs and weights of a tile and `wide_outputs` neurons, loaded while others are used.
struct WideStep {
  static constexpr unsigned input_fours = wide_inputs * tile_documents / 4 / layer_threads,
                            weight_fours = wide_inputs * wide_outputs / 4 / layer_threads,
                            fours_per_input_row = tile_documents / 4, fours_per_weight_row = wide_outputs / 4;
  struct Memory {
    float4 inputs[wide_inputs * fours_per_input_row], weights[wide_inputs * fours_per_weight_row];
  };

  float4 inputs[input_fours], weights[weight_fours];

  __device__ void load(const LayerView& layer, std::uint32_t first, std::size_t document, std::uint32_t output) {
#pragma unroll
    for (unsigned i = 0; i < input_fours; ++i) {
      const unsigned place = threadIdx.x + i * layer_threads;
      inputs[i] = four_of(layer.in, layer.stride, first + place / fours_per_input_row, layer.size.inputs,
                          document + place % fours_per_input_row * 4, layer.stride);
    }
#pragma unroll
    for (unsigned i = 0; i < weight_fours; ++i) {
      const unsigned place = threadIdx.x + i * layer_threads;
      weights[i] = four_of(layer.weights, layer.size.row, first + place / fours_per_weight_row, layer.size.inputs,
                           output + place % fours_per_weight_row * 4, layer.size.row);
    }
  }
  __device__ void store(Memory& to) const {
#pragma unroll
    for (unsigned i = 0; i < input_fours; ++i) to.inputs[threadIdx.x + i * layer_threads] = inputs[i];
#pragma unroll
    for (unsigned i = 0; i < weight_fours; ++i) to.weights[threadIdx.x + i * layer_threads] = weights[i];
  }
};

/// A thread block's place in a wide layer: a tile, and wide_outputs neurons.
struct WidePlace {
  std::size_t document = 0;
  std::uint32_t output = 0;

  __device__ explicit WidePlace(const LayerView& layer) {
    const std::uint32_t blocks_per_tile = (layer.size.outputs + wide_outputs - 1) / wide_outputs;
    document = std::size_t{blockIdx.x / blocks_per_tile} * tile_documents;
    output = blockIdx.x % blocks_per_tile * wide_outputs;
  }
};

/// Calls add(step, number of inputs) for all inputs of a wide layer. Called by a whole thread block; `memory` is
/// shared.
template <class Add>
__device__ inline void for_each_step(const LayerView& layer, const WidePlace& place, WideStep::Memory (&memory)[2],
                                     const Add& add) {
  WideStep step;
  step.load(layer, 0, place.document, place.output);
  step.store(memory[0]);
  __syncthreads();
  for (std::uint32_t first = 0, turn = 0; first < layer.size.inputs; first += wide_inputs, turn ^= 1) {
    const std::uint32_t next = first + wide_inputs;
    if (next < layer.size.inputs) step.load(layer, next, place.document, place.output);
    add(memory[turn], min(layer.size.inputs - first, wide_inputs));
    if (next < layer.size.inputs) step.store(memory[turn ^ 1]);
    __syncthreads();
  }
}

/// A layer for many documents: a thread has four neurons of four documents.
struct WideLayer {
  static constexpr unsigned threads = layer_threads;

  LayerView layer;

  __device__ void operator()(std::uint32_t*) const {
    __shared__ WideStep::Memory memory[2];
    const WidePlace place(layer);
    const std::uint32_t first_output = place.output + own_output() * 4;
    float sums[4][4];  // by neuron and document
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const float bias = first_output + j < layer.size.row ? layer.bias[first_output + j] : 0.0f;
#pragma unroll
      for (unsigned d = 0; d < 4; ++d) sums[j][d] = bias;
    }
    for_each_step(layer, place, memory, [&](const WideStep::Memory& from, std::uint32_t inputs) {
      if (inputs == wide_inputs)
        add_inputs(from, wide_inputs, sums);
      else
        add_inputs(from, inputs, sums);
    });
#pragma unroll
    for (unsigned j = 0; j < 4; ++j)
#pragma unroll
      for (unsigned d = 0; d < 4; ++d)
        if (first_output + j < layer.size.outputs)
          layer.put(first_output + j, place.document + own_document() * 4 + d, sums[j][d]);
  }

 private:
  /// The thread's documents and neurons, by fours.
  __device__ static unsigned own_document() { return threadIdx.x % WideStep::fours_per_input_row; }
  __device__ static unsigned own_output() { return threadIdx.x / WideStep::fours_per_input_row; }

  __device__ static void add_inputs(const WideStep::Memory& from, std::uint32_t count, float (&sums)[4][4]) {
#pragma unroll 4
    for (std::uint32_t i = 0; i < count; ++i) {
      const float4 in = from.inputs[i * WideStep::fours_per_input_row + own_document()],
                   by = from.weights[i * WideStep::fours_per_weight_row + own_output()];
      const float values[4] = {in.x, in.y, in.z, in.w}, weights[4] = {by.x, by.y, by.z, by.w};
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
#pragma unroll
        for (unsigned d = 0; d < 4; ++d) sums[j][d] += values[d] * weights[j];
    }
  }
};

/// A layer for few documents or of few neurons: a thread has one neuron of one document, a warp one of a tile.
struct NarrowLayer {
  static constexpr unsigned threads = layer_threads;

  LayerView layer;

  __device__ void operator()(std::uint32_t*) const {
    __shared__ Memory memory[2];
    const std::uint32_t blocks_per_tile = (layer.size.outputs + narrow_outputs - 1) / narrow_outputs;
    const std::size_t document = std::size_t{blockIdx.x / blocks_per_tile} * tile_documents;
    const std::uint32_t first_output = blockIdx.x % blocks_per_tile * narrow_outputs;
    const unsigned warp = threadIdx.x / lanes_per_warp;
    const bool has_output = first_output + warp < layer.size.outputs;
    float sum = has_output ? layer.bias[first_output + warp] : 0.0f;
    Step step;
    step.load(layer, 0, document, first_output);
    step.store(memory[0]);
    __syncthreads();
    for (std::uint32_t first = 0, turn = 0; first < layer.size.inputs; first += narrow_inputs, turn ^= 1) {
      const std::uint32_t next = first + narrow_inputs;
      if (next < layer.size.inputs) step.load(layer, next, document, first_output);
      if (has_output) sum = add_inputs(memory[turn], warp, min(narrow_inputs, layer.size.inputs - first), sum);
      if (next < layer.size.inputs) step.store(memory[turn ^ 1]);
      __syncthreads();
    }
    if (has_output) layer.put(first_output + warp, document + lane_id(), sum);
  }

 private:
  static_assert(narrow_inputs == layer_threads && narrow_outputs == 4);

  struct Memory {
    float4 inputs[narrow_inputs * tile_documents / 4];
    float4 weights[narrow_outputs][narrow_inputs / 4];
  };

  /// The next inputs and the four weights of an input, in registers.
  struct Step {
    static constexpr unsigned input_fours = narrow_inputs * tile_documents / 4 / layer_threads;

    float4 inputs[input_fours], weights;

    __device__ void load(const LayerView& from, std::uint32_t first, std::size_t document, std::uint32_t output) {
#pragma unroll
      for (unsigned i = 0; i < input_fours; ++i) {
        const unsigned place = threadIdx.x + i * layer_threads;
        inputs[i] = four_of(from.in, from.stride, first + place / (tile_documents / 4), from.size.inputs,
                            document + place % (tile_documents / 4) * 4, from.stride);
      }
      weights = four_of(from.weights, from.size.row, first + threadIdx.x, from.size.inputs, output, from.size.row);
    }
    __device__ void store(Memory& to) const {
#pragma unroll
      for (unsigned i = 0; i < input_fours; ++i) to.inputs[threadIdx.x + i * layer_threads] = inputs[i];
      const float values[narrow_outputs] = {weights.x, weights.y, weights.z, weights.w};
#pragma unroll
      for (unsigned j = 0; j < narrow_outputs; ++j) reinterpret_cast<float*>(to.weights[j])[threadIdx.x] = values[j];
    }
  };

  __device__ static float add_inputs(const Memory& from, unsigned output, std::uint32_t count, float sum) {
    const auto* inputs = reinterpret_cast<const float*>(from.inputs) + lane_id();
    std::uint32_t i = 0;
#pragma unroll 4
    for (; i + 4 <= count; i += 4) {
      const float4 by = from.weights[output][i / 4];
      sum += inputs[i * tile_documents] * by.x;
      sum += inputs[(i + 1) * tile_documents] * by.y;
      sum += inputs[(i + 2) * tile_documents] * by.z;
      sum += inputs[(i + 3) * tile_documents] * by.w;
    }
    const auto* weights = reinterpret_cast<const float*>(from.weights[output]);
    for (; i < count; ++i) sum += inputs[i * tile_documents] * weights[i];
    return sum;
  }
};

}  // namespace quern::gpu
