#include "quern/gpu/rank/models/ranker_cache.hpp"

#include "quern/core/error.hpp"
#include "quern/gpu/rank/models/ranker_arrays.hpp"

namespace quern::gpu {

RankerCache::RankerCache(unsigned gpu, std::uint64_t bytes, DeviceRankerOptions options)
    : gpu_(gpu), options_(options), account_(bytes), places_(bytes) {}

std::shared_ptr<const DeviceRanker> RankerCache::find(const RankerModel& model) {
  const std::lock_guard lock(mutex_);
  return places_.find(&model, [&] {
    const auto arrays = std::make_shared<const RankerArrays>(make_ranker_arrays(model));
    const auto load = [this, arrays]() -> std::shared_ptr<const DeviceRanker> {
      try {
        return std::make_shared<const DeviceRanker>(*arrays, gpu_, account_, options_);
      } catch (const GpuOutOfMemory&) {
        return nullptr;
      }
    };
    return ModelPlaces<DeviceRanker>::Wanted{MemoryAccount::rounded(arrays->bytes()), load};
  });
}

RankerCacheCounts RankerCache::counts() const {
  const std::lock_guard lock(mutex_);
  return places_.counts();
}

}  // namespace quern::gpu
