#include <cstring>

#include "quern/codec/codec.hpp"
#include "quern/core/random.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "fuzz/collection_fuzzing.hpp"
#include "index/pipeline/use_collection.hpp"

/// Damaged collections with recomputed checksums, and the stages that read them.
namespace quern {
namespace {

using namespace testing;

std::vector<Page> small_pages() {
  std::vector<Page> pages;
  for (int i = 0; i < 30; ++i) {
    const std::string number = std::to_string(i);
    pages.push_back({"d" + number, "http://h.example/" + number, "mill " + number, "flour mill stone" + number});
  }
  return pages;
}

/// Runs order and build; collections that pass verify must give a valid index. Returns whether the stages accept the
/// collection.
bool is_taken(ByteView parts, OrderBy by, const std::string& codec, const Resources& resources) {
  try {
    const CollectionReader collection = fuzz::CollectionMaker().make(parts, true);
    bool is_sound = true;
    try {
      collection.verify_contents(resources);
    } catch (const CorruptFile&) {
      is_sound = false;
    }
    OrderOptions order_options;
    order_options.by = by;
    BuildOptions options;
    options.codec = codec;
    options.codec_options.block_size = 64;
    const DocumentOrder order = order_of(collection, order_options, resources);
    index_of(collection, order, order_options, options, resources, is_sound);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("Order and build accept any damaged collection or refuse it with an error", "[pipeline][damage]") {
  const TemporaryFolder folder;
  const Resources resources = small_resources(folder);
  const Bytes sound = fuzz::parts_of_collection(collection_of(folder, small_pages(), 500));
  RandomBits random(53);
  std::size_t taken = 0, tried = 0;
  for (const OrderMethod& order : all_orders()) {
    for (const Codec* codec : all_codecs()) {
      const std::string name(codec->name);
      CHECK(is_taken(sound, order.by, name, resources));
      for (int i = 0; i < 40; ++i) {
        Bytes parts = sound;
        const std::size_t at = random.below(parts.size());
        parts[at] =
            static_cast<std::uint8_t>(random.below(3) == 0 ? random.below(256) : parts[at] ^ 1u << random.below(8));
        INFO(order.name() << ", " << name << ", change " << i << " at " << at);
        bool is_one = false;
        REQUIRE_NOTHROW(is_one = is_taken(parts, order.by, name, resources));
        taken += is_one;
        ++tried;
      }
    }
  }
  CHECK(taken > tried / 20);
  CHECK(taken < tried);
}

TEST_CASE("Build refuses a collection with a chunk that names a term twice", "[pipeline][damage]") {
  const TemporaryFolder folder;
  const Resources resources = small_resources(folder);
  const CollectionReader collection = collection_of(folder, small_pages(), 1 << 20);
  Bytes parts = fuzz::parts_of_collection(collection);
  ChunkBuffers buffers;
  collection.forward(0, buffers);
  const std::vector<term_t>& terms = buffers.terms;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(terms.data());
  const auto found = std::search(parts.begin(), parts.end(), begin, begin + 4 * terms.size());
  REQUIRE(found != parts.end());
  // The chunk's first terms are of all documents' titles and bodies.
  std::copy_n(found, 4, found + 4);
  const CollectionReader damaged = fuzz::CollectionMaker().make(parts, true);
  CHECK_THROWS_WITH(damaged.verify_contents(resources), Catch::Contains("has a term twice"));
  const DocumentOrder order = order_of(damaged, {}, resources);
  for (const Codec* codec : all_codecs()) {
    BuildOptions options;
    options.codec = codec->name;
    File file = File::anonymous(resources.tmp_folder);
    CHECK_THROWS_WITH(build_index(damaged, order, {}, options, resources, file),
                      Catch::Contains("a document occurs twice in the list of term"));
  }
}

}  // namespace quern
