#include "quern/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {

MappedFile::MappedFile(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (at == MAP_FAILED) throw_errno("can't map", file.name());
  data_ = static_cast<const std::uint8_t*>(at);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void release_pages(ByteView mapped) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data()), end = begin + mapped.size();
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  // The system may decline, which is not an error.
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::uint64_t resident_file_bytes() {
  // Pages: the whole size, those in memory, and those of them that are of files.
  static const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128];
  const ssize_t size = descriptor < 0 ? -1 : ::pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  unsigned long long of_files = 0;
  if (std::sscanf(text, "%*u %*u %llu", &of_files) != 1) return 0;
  return of_files * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace quern
