#pragma once
#include <mutex>
#include <new>
#include <type_traits>

#include "quern/core/types.hpp"

namespace quern {

/// Per-query buffers that each thread keeps for its next query. A query takes about ten; an allocator would split and
/// join larger blocks for them, and threads would contend for its memory. Sanitizer builds allocate
/// every buffer separately, so that they detect accesses past its end.
class ScratchMemory {
 public:
  /// A buffer size, and how many of these buffers a thread keeps.
  struct Kind {
    std::size_t bytes, max_kept;
  };
  /// For the numbers of a block plus what kernels read past them, for a list's current block (BlockReader), for the
  /// positions of a block's documents, and for the numbers of a window.
  static constexpr std::array<Kind, 4> kinds = {{{2304, 64}, {4352, 64}, {5248, 32}, {65792, 6}}};
  /// The index of the smallest kind that holds `bytes` bytes; kinds.size() if none does.
  static constexpr std::size_t kind_of(std::size_t bytes) {
    std::size_t kind = 0;
    while (kind < kinds.size() && kinds[kind].bytes < bytes) ++kind;
    return kind;
  }
  /// Bytes that take() allocates for `bytes` bytes.
  static constexpr std::size_t taken_bytes(std::size_t bytes) {
    const std::size_t kind = kind_of(bytes);
    return kind == kinds.size() ? bytes : kinds[kind].bytes;
  }
  /// Throws std::bad_alloc.
  static void* take(std::size_t bytes);
  /// `bytes` as in take(). The calling thread keeps the buffer, even if another thread took it.
  static void give_back(void* memory, std::size_t bytes) noexcept;
};

/// An uninitialized array in scratch memory.
template <class T>
class ScratchArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit ScratchArray(std::size_t size)
      : size_(size), data_(static_cast<T*>(ScratchMemory::take(size * sizeof(T)))) {}
  ~ScratchArray() {
    if (data_ != nullptr) ScratchMemory::give_back(data_, size_ * sizeof(T));
  }
  ScratchArray(ScratchArray&& other) noexcept : size_(other.size_), data_(std::exchange(other.data_, nullptr)) {}
  ScratchArray& operator=(ScratchArray&&) = delete;

  T* get() const { return data_; }
  T* operator->() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  T* data_;
};

/// A thread-safe pool of reusable objects that are costly to make; one thread uses an object at a time.
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
  /// An object that returns to the pool, which must outlive it.
  using Borrowed = std::unique_ptr<T, GiveBack>;

  /// A returned object, in the state in which it was returned, or a new one. Throws what making it throws.
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
    try {
      spare_.push_back(std::move(object));
    } catch (const std::bad_alloc&) {
      // Without memory to keep it, the object is freed.
    }
  }

  const Make make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
};

}  // namespace quern
