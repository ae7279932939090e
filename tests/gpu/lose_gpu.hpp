#pragma once

namespace quern::testing {

/// Makes every later CUDA call of this process fail, as if its GPU were lost: a kernel that traps destroys the context.
void lose_gpu();

}  // namespace quern::testing
