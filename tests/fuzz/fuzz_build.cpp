#include <optional>

#include "quern/core/error.hpp"

#include "../index/pipeline/use_collection.hpp"
#include "collection_fuzzing.hpp"
#include "stage_choices.hpp"

namespace {

using namespace quern;

bool is_sound(const CollectionReader& collection, const Resources& resources) {
  try {
    collection.verify_contents(resources);
    return true;
  } catch (const CorruptFile&) {
    return false;
  }
}

}  // namespace

/// Two bytes choose order and codec, two are the size of an order's sections (0: the order is computed), which follow;
/// the rest are the parts of a collection. For any contents, order and build write valid files or throw a library
/// error; if the collection passes verify, so does the index.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const ByteView input(data + 4, size - 4);
  const std::size_t order_bytes = std::min<std::size_t>(load_le<std::uint16_t>(data + 2), input.size());
  const Resources resources = fuzz::fuzz_resources();
  try {
    const CollectionReader collection = fuzz::CollectionMaker().make(input.subspan(order_bytes), (data[0] & 0x80) == 0);
    const bool sound = is_sound(collection, resources);
    OrderOptions order_options = fuzz::order_choice(data[0] & 0x7f);
    DocumentOrder order;
    if (order_bytes == 0) {
      order = testing::order_of(collection, order_options, resources);
    } else {
      const OrderReader reader(ContainerReader(
          fuzz::container_around(input.first(order_bytes), FileKind::order, fuzz::order_sections), FileKind::order));
      order_options = reader.manifest().options;
      order = reader.load();
    }
    testing::index_of(collection, order, order_options, fuzz::build_choice(data[1]), resources, sound);
  } catch (const Error&) {
  }
  return 0;
}
