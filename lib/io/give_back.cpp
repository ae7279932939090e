#include "quern/io/give_back.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace quern {

void give_back_pages(ByteView mapped) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data()), end = begin + mapped.size();
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  // That the system may not want them is no failure.
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace quern
