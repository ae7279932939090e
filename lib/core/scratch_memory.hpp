#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern {

/// Memory for one query that its thread keeps for the next: a query takes some ten buffers, which an allocator would
/// cut from larger ones and join again, and where threads share its memory they would wait for each other. Sanitizers
/// get every buffer anew, so that they see its end.
class ScratchMemory {
 public:
  /// Buffers of about one size, of which a thread keeps a few.
  struct Kind {
    std::size_t bytes, most_kept;
  };
  /// For numbers of a block and what kernels read after them, for a list's current block (BlockReader), for places of a
  /// block's documents, and for numbers of a window.
  static constexpr std::array<Kind, 4> kinds = {{{2304, 64}, {4352, 64}, {5248, 32}, {65792, 6}}};
  /// The number of the kind that has so many bytes; that of kinds if none has.
  static constexpr std::size_t kind_of(std::size_t bytes) {
    std::size_t kind = 0;
    while (kind < kinds.size() && kinds[kind].bytes < bytes) ++kind;
    return kind;
  }
  /// What is taken for so many bytes.
  static constexpr std::size_t taken_bytes(std::size_t bytes) {
    const std::size_t kind = kind_of(bytes);
    return kind == kinds.size() ? bytes : kinds[kind].bytes;
  }
  /// What a thread keeps, at most: what a query of many terms takes for some of its lists and for a window.
  static constexpr std::size_t most_bytes() {
    std::size_t bytes = 0;
    for (const Kind& kind : kinds) bytes += kind.bytes * kind.most_kept;
    return bytes;
  }

  /// Throws std::bad_alloc.
  static void* take(std::size_t bytes);
  /// `bytes` as in take(); the calling thread keeps the buffer, whoever took it.
  static void give_back(void* memory, std::size_t bytes) noexcept;
};

/// An array in such memory, which is not initialized.
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
