#include "quern/core/error.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/index/forward/recode_forward.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/index/verify_index.hpp"

#include "../index/pipeline/use_index.hpp"
#include "container_fuzzing.hpp"
#include "work_folder.hpp"

namespace {

using namespace quern;

/// Writes an index of documents of another index, and the forward file if there is one; make(file) writes the index.
template <class Make>
void make_of(const IndexReader& from, const ForwardReader* forward, const Resources& resources, Make&& make) {
  testing::allow_errors([&] {
    File file = File::anonymous(resources.tmp_folder), forward_file = File::anonymous(resources.tmp_folder);
    make(file);
    const IndexReader made = IndexReader::open(file);
    const auto first = made.manifest().shard ? static_cast<docid_t>(made.manifest().docid_base) : 0;
    testing::allow_errors([&] { verify_index(made, resources); });
    if (forward == nullptr) return;
    ForwardRecoder recoder(made, resources, forward_file);
    recoder.add(from, *forward, {first, first + made.num_documents()});
    recoder.finish();
  });
}

}  // namespace

/// Any index and forward file are cut into shards, merged if they are all the shards of an index, or refused with a
/// library error. An input is the size of the index's part, that part, and the forward file's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const Resources resources = fuzz::fuzz_resources();
  const std::size_t index_size = std::min<std::size_t>(load_le<std::uint32_t>(data), size - 4);
  const ByteView index_bytes(data + 4, index_size), forward_bytes(data + 4 + index_size, size - 4 - index_size);
  testing::allow_errors([&] {
    std::vector<IndexReader> indexes;
    indexes.push_back(fuzz::index_around(index_bytes));
    std::optional<ForwardReader> forward;
    testing::allow_errors([&] {
      forward.emplace(ContainerReader(fuzz::container_around(forward_bytes, FileKind::forward, fuzz::forward_sections),
                                      FileKind::forward));
      if (forward->num_documents() != indexes[0].num_documents()) forward.reset();
    });
    const ForwardReader* const beside = forward ? &*forward : nullptr;
    const IndexShards shards(std::move(indexes));
    make_of(shards[0], beside, resources, [&](File& file) { merge_indexes(shards, resources, file); });
    for (const std::uint32_t number : {1u, 2u})
      make_of(shards[0], beside, resources, [&](File& file) {
        cut_index(shards[0], {number, 2}, nullptr, resources, file);
      });
  });
  return 0;
}
