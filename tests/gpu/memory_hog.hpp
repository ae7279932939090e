#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "catch.hpp"

namespace quern::testing {

/// Occupies nearly all of the first GPU's memory during its lifetime.
class MemoryHog {
 public:
  MemoryHog() {
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    for (std::size_t bytes = std::size_t{1} << 40; bytes >= (std::size_t{1} << 21);) {
      void* memory = nullptr;
      if (cudaMalloc(&memory, bytes) == cudaSuccess) {
        taken_.push_back(memory);
      } else {
        cudaGetLastError();
        bytes /= 2;
      }
    }
  }
  ~MemoryHog() {
    for (void* memory : taken_) cudaFree(memory);
  }
  MemoryHog(const MemoryHog&) = delete;
  MemoryHog& operator=(const MemoryHog&) = delete;

 private:
  std::vector<void*> taken_;
};

}  // namespace quern::testing
