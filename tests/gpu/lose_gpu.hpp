#pragma once

namespace quern::testing {

/// Makes every later CUDA call of this process fail, as if its GPU had gone: a kernel that traps ruins the context.
void lose_gpu();

}  // namespace quern::testing
