#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace quern::gpu {

/// Arrays of a batch one after another, so that one copy takes them all.
class Layout {
 public:
  template <class T>
  std::size_t add(std::size_t count) {
    const std::size_t begin = (bytes_ + 255) / 256 * 256;
    bytes_ = begin + count * sizeof(T);
    return begin;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Copies numbers to their offset in a layout.
template <class T>
void put(std::uint8_t* memory, std::size_t offset, const std::vector<T>& numbers) {
  if (!numbers.empty()) std::memcpy(memory + offset, numbers.data(), numbers.size() * sizeof(T));
}

/// The array at an offset of a layout.
template <class T>
T* at(std::uint8_t* memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace quern::gpu
