#pragma once
#include "quern/gpu/worker/strategy.hpp"

namespace quern::testing {

/// The strategy `range`, but on the first GPU CUDA refuses a call of each batch, and another one when the strategy is
/// destroyed, which CUDA would report to the thread's next call.
gpu::Strategy failing_on_first_gpu();

}  // namespace quern::testing
