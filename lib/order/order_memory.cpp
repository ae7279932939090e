#include "quern/order/order_memory.hpp"

#include <fmt/format.h>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"

namespace quern {

void check_order_memory(std::uint64_t num_documents, std::uint64_t document_bytes, const Resources& resources) {
  check_order_memory(fmt::format("an order of {} documents", num_documents), num_documents * document_bytes, resources);
}

void check_order_memory(const std::string& what, std::uint64_t needed_bytes, const Resources& resources) {
  if (needed_bytes > resources.memory_bytes) {
    throw InvalidArgument(fmt::format("{} needs {} of memory, but --memory allows {}; raise it", what,
                                      size_text(needed_bytes), size_text(resources.memory_bytes)));
  }
}

}  // namespace quern
