#pragma once
#include "quern/gpu/decode/decoder.cuh"

namespace quern::gpu {

/// Calls with.operator()<V, quantized>().
template <class With>
void with_form(const IndexView& index, bool quantized, With&& with) {
  with_values_a_lane(index.block_size, [&]<int V>() {
    if (quantized)
      with.template operator()<V, true>();
    else
      with.template operator()<V, false>();
  });
}

}  // namespace quern::gpu
