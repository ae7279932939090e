#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "quern/core/error.hpp"

/// For CUDA sources only.
namespace quern {

/// Throws CudaError "CALL failed at FILE:LINE: reason" unless `status` is success.
inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next call would report this failure again
  throw CudaError(std::string(call) + " failed at " + file + ":" + std::to_string(line) + ": " +
                  cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

}  // namespace quern

#define CUDA_CHECK(call) ::quern::check_cuda((call), #call, __FILE__, __LINE__)
