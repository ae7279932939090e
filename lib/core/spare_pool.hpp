#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace quern {

/// Objects that are costly to make and that one thread at a time uses: whoever is done leaves its own for the next one.
/// Thread-safe.
template <class T>
class SparePool {
 public:
  using Make = std::function<std::unique_ptr<T>()>;
  explicit SparePool(Make make) : make_(std::move(make)) {}

  class GiveBack {
   public:
    explicit GiveBack(SparePool* pool = nullptr) : pool_(pool) {}
    void operator()(T* object) const { pool_->give_back(std::unique_ptr<T>(object)); }

   private:
    SparePool* pool_;
  };
  /// An object that goes back to the pool, which must outlive it.
  using Borrowed = std::unique_ptr<T, GiveBack>;

  /// One that others have left, as they left it, or a new one. Throws what making it throws.
  Borrowed borrow() {
    std::unique_ptr<T> object;
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        object = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    if (object == nullptr) object = make_();
    return Borrowed(object.release(), GiveBack(this));
  }

 private:
  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(object));
  }

  const Make make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
};

}  // namespace quern
