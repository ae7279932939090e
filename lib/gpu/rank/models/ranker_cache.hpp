#pragma once
#include <list>
#include <unordered_map>

#include "quern/gpu/rank/models/device_ranker.hpp"

namespace quern::gpu {

/// Decides which models stay in limited memory: those used last, and those that are held. For one thread at a time.
template <class Loaded>
class ModelPlaces {
 public:
  /// A model to load: its size, and a function that loads it, which returns null if it does not fit after all.
  struct Wanted {
    std::uint64_t bytes = 0;
    std::function<std::shared_ptr<const Loaded>()> load;
  };

  explicit ModelPlaces(std::uint64_t bytes) : left_(bytes) {}

  std::uint64_t loads() const { return loads_; }
  std::uint64_t evictions() const { return evictions_; }

  /// The model with this key, which prepare() prepares for loading if necessary, but not again for a refused one that
  /// still does not fit. Null if models in use leave too little memory.
  template <class Prepare>
  std::shared_ptr<const Loaded> find(const void* key, const Prepare& prepare) {
    if (const auto found = places_.find(key); found != places_.end()) {
      models_.splice(models_.begin(), models_, found->second);
      return models_.front().loaded;
    }
    if (const auto refused = refused_.find(key); refused != refused_.end() && !has_room(refused->second))
      return nullptr;
    return load(key, prepare());
  }

 private:
  struct Model {
    const void* key = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<const Loaded> loaded;

    bool in_use() const { return loaded.use_count() > 1; }
  };

  bool has_room(std::uint64_t bytes) const {
    std::uint64_t room = left_;
    for (const Model& model : models_)
      if (!model.in_use()) room += model.bytes;
    return bytes <= room;
  }

  std::shared_ptr<const Loaded> load(const void* key, const Wanted& wanted) {
    std::shared_ptr<const Loaded> loaded;
    if (has_room(wanted.bytes)) {
      while (wanted.bytes > left_) evict_one();
      // The GPU may have less free memory than the limit; evict others then too.
      while ((loaded = wanted.load()) == nullptr && evict_one()) {
      }
    }
    if (loaded == nullptr) {
      refused_[key] = wanted.bytes;
      return nullptr;
    }
    ++loads_;
    left_ -= wanted.bytes;
    refused_.erase(key);
    models_.push_front({key, wanted.bytes, loaded});
    places_[key] = models_.begin();
    return loaded;
  }

  /// Evicts the least recently used model that is not in use; false if there is none.
  bool evict_one() {
    const auto last =
        std::find_if(models_.rbegin(), models_.rend(), [](const Model& model) { return !model.in_use(); });
    if (last == models_.rend()) return false;
    ++evictions_;
    left_ += last->bytes;
    places_.erase(last->key);
    models_.erase(std::next(last).base());
    return true;
  }

  std::uint64_t left_, loads_ = 0, evictions_ = 0;
  std::list<Model> models_;  ///< those used last first
  std::unordered_map<const void*, typename std::list<Model>::iterator> places_;
  std::unordered_map<const void*, std::uint64_t> refused_;  ///< their bytes
};

/// Models in one GPU's memory, within a limit (Tadros 2015, section 4). A model is loaded at its first use, and the
/// least recently used ones are evicted. Thread-safe.
class RankerCache {
 public:
  /// Uses at most `bytes` of GPU memory, which are allocated only with models.
  RankerCache(unsigned gpu, std::uint64_t bytes, bool fast_math = false)
      : gpu_(gpu), fast_math_(fast_math), account_(bytes), places_(bytes) {}

  /// The model on the GPU, where it stays as long as the pointer, which must be kept until the GPU has finished with
  /// it. Null if the models in use leave too little memory. `model` is identified by its address, and must outlive the
  /// cache. Throws InvalidArgument if check_model() does; CudaError.
  std::shared_ptr<const DeviceRanker> find(const RankerModel& model);

  struct Counts {
    std::uint64_t loads = 0, evictions = 0;
  };
  /// Models loaded and evicted so far.
  Counts counts() {
    const std::lock_guard lock(mutex_);
    return {places_.loads(), places_.evictions()};
  }

 private:
  const unsigned gpu_;
  const bool fast_math_;
  std::mutex mutex_;
  MemoryAccount account_;  ///< must outlive the models
  ModelPlaces<DeviceRanker> places_;
};

/// The number of documents from which a GPU call should be faster than a core; the largest number if never.
std::size_t fewest_gpu_documents(const RankerModel& model);

}  // namespace quern::gpu
