#pragma once
#include "quern/gpu/store/list_store_device.cuh"

namespace quern::gpu {

/// What runners of all kinds have in common; `Runner`: the interface of a kind. For CUDA sources only.
template <class Runner>
struct RunnerState : Runner {
  /// Allocates at most `max_bytes` of GPU memory. `list_store`: the lists', null if the index holds all.
  RunnerState(const DeviceIndex& device_index, const DeviceListStore* list_store, std::uint64_t max_bytes)
      : index(device_index),
        store(list_store),
        account(max_bytes, &device_index.whole_account()),
        scratch(account, MemoryUse::working, device_index.device().scratch_words),
        index_view(device_index.device().view) {
    index_view.scratch = scratch.data();
    if (store) store->device().set(index_view);
  }

  const DeviceIndex& index;
  const DeviceListStore* store;
  MemoryAccount account;  ///< of all GPU memory below
  CudaStream stream;
  CudaEvent started, uploaded, kernels_started, ended;
  PinnedArray<std::uint8_t> host_in{index.pinned(), MemoryUse::pinned}, host_out{index.pinned(), MemoryUse::pinned};
  DeviceArray<std::uint8_t> in{account, MemoryUse::batch};
  DeviceArray<std::uint32_t> scratch;  ///< see IndexView::scratch
  IndexView index_view;

  void use_gpu() const { gpu::use_gpu(index.gpu()); }
  /// Makes later work wait for an event of another stream.
  void make_wait(const CudaEvent& event) const { CUDA_CHECK(cudaStreamWaitEvent(stream, event.handle())); }
  const MemoryTable& memory() const final { return account.peak(); }
  void free_memory() override {
    in.release();
    host_in.release();
    host_out.release();
  }
  void abandon() noexcept final {
    cudaStreamSynchronize(stream);
    cudaGetLastError();  // otherwise the next call would report the error again
  }
  /// Throws CorruptFile unless `damaged`, the number of blocks that did not decode, is 0.
  void check_damage(std::uint32_t damaged) const {
    if (damaged == 0) return;
    throw CorruptFile(index.index().name() + ": " + std::to_string(damaged) +
                      " blocks do not decode on the GPU; the index is damaged: quern verify says where; build it "
                      "again, or restore a copy");
  }
};

}  // namespace quern::gpu
