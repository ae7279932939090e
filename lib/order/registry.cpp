#include <fmt/format.h>

#include "quern/core/named.hpp"
#include "quern/core/size_text.hpp"
#include "quern/order/orders.hpp"

namespace quern {

const std::vector<const OrderMethod*>& all_orders() {
  static const std::vector<const OrderMethod*> orders = {&natural_order(), &url_order(), &score_order(),
                                                         &bisection_order(), &random_order()};
  return orders;
}

const OrderMethod& order_named(std::string_view name) { return find_named(all_orders(), name, "docID order"); }

std::string_view automatic_order(const CollectionManifest& collection) {
  return collection.documents_without_url == 0 ? url_order().name() : natural_order().name();
}

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
