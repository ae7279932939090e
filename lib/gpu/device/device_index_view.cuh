#pragma once
#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/index_view.hpp"

namespace quern::gpu {

struct DeviceIndex::Device {
  DeviceArray<std::uint32_t> postings, block_last, block_offset, impacts;
  DeviceArray<std::uint16_t> block_max;
  DeviceArray<float> constants, upper_bounds;
  DeviceArray<float> static_scores;                           ///< see IndexView
  DeviceArray<float> range_static_score, range_upper_bounds;  ///< see RangeView; empty without static scores
  std::uint64_t scratch_words = 0;                            ///< size of IndexView::scratch for this index
  Coding coding = Coding::newpfd;
  bool quantized = false;
  IndexView view;
};

}  // namespace quern::gpu
