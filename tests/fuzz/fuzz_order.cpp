#include <cstdlib>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/formats/order_file.hpp"

#include "container_fuzzing.hpp"

/// For any contents of an order file's sections, the loaded order is a permutation with a score for each document.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    const OrderReader reader(
        ContainerReader(fuzz::container_around({data, size}, FileKind::order, fuzz::order_sections), FileKind::order));
    const DocumentOrder order = reader.load();
    std::vector<bool> met(order.documents.size());
    for (const docid_t document : order.documents) {
      if (document >= met.size() || met[document]) std::abort();
      met[document] = true;
    }
    for (const auto* scores : {&order.pagerank, &order.global_scores})
      if (!scores->empty() && scores->size() != order.documents.size()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
