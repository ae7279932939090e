#pragma once
#include "quern/gpu/worker/strategy.hpp"

namespace quern::testing {

/// The strategy `range`, except that on the first GPU a CUDA call fails in each batch, and another one in the
/// strategy's destructor, whose error CUDA would return from the thread's next call.
gpu::Strategy failing_on_first_gpu();

}  // namespace quern::testing
