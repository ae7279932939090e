#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/device/memory_division.hpp"

#include "catch.hpp"

/// Division and accounting of a GPU's memory.
namespace quern {
namespace {

using gpu::divide_memory;
using gpu::IndexSizes;
using gpu::MemoryDivision;

constexpr std::uint64_t megabyte = 1 << 20;

std::uint64_t taken_by(const MemoryDivision& division, const IndexSizes& sizes) {
  const std::uint64_t batches = 2 * division.per_batch;
  if (division.whole_index) return sizes.tables + sizes.rows + sizes.lists + batches;
  return sizes.tables + (division.resident_rows ? sizes.rows : division.rows) + division.lists + division.windows +
         gpu::staging_buffers * division.staging + batches;
}

}  // namespace

TEST_CASE("no division exceeds the limit, and all leave space for batches", "[gpu_store][property]") {
  RandomBits random(3);
  for (unsigned i = 0; i < 20000; ++i) {
    const auto draw = [&] { return random.below(std::uint64_t{1} << random.below(36)); };
    const IndexSizes sizes{draw(), draw(), 1 + draw(), draw()};
    const std::uint64_t limit = draw();
    gpu::GpuMemoryOptions memory;
    if (random.below(2) == 0) memory.list_share = static_cast<double>(random.below(120)) / 100;
    if (random.below(2) == 0) memory.needs = {random.below(limit + 1) / 4, draw(), random.below(3) * 8192};
    const std::uint64_t needed = memory.needs ? memory.needs->least : 0;
    INFO("limit " << limit << ", tables " << sizes.tables << ", rows " << sizes.rows << ", lists " << sizes.lists
                  << ", share " << memory.list_share.value_or(-1) << ", a batch needs " << needed);
    try {
      const MemoryDivision division = divide_memory(limit, sizes, memory, "index");
      REQUIRE(taken_by(division, sizes) <= limit);
      REQUIRE(division.per_batch >= 2 * megabyte + needed);
      REQUIRE(division.queries <= division.per_batch);
      if (!division.whole_index) {
        REQUIRE(division.lists <= sizes.lists);
        REQUIRE(division.windows <= std::max(division.lists, division.per_batch));
        if (memory.list_share)
          REQUIRE(division.lists <= static_cast<std::uint64_t>(*memory.list_share * static_cast<double>(sizes.lists)));
        else if (division.resident_rows)
          REQUIRE(division.lists >= std::min(sizes.lists, megabyte / 2));
      }
    } catch (const GpuOutOfMemory& error) {
      REQUIRE(limit < sizes.tables + 2 * sizes.lists + 7 * megabyte + 5 * needed / 2);
      REQUIRE(std::string(error.what()).find("index: queries on a GPU need at least ") == 0);
    }
  }
}

TEST_CASE("the memory reported as enough is enough", "[gpu_store]") {
  const IndexSizes sizes{300 * megabyte, 50 * megabyte, 6000 * megabyte};
  std::uint64_t least = 0;
  for (std::uint64_t limit = megabyte; least == 0; limit += megabyte) {
    try {
      divide_memory(limit, sizes, {}, "index");
      least = limit;
    } catch (const GpuOutOfMemory&) {
    }
  }
  CHECK(least < 308 * megabyte);
  CHECK_FALSE(divide_memory(least, sizes, {}, "index").resident_rows);
  CHECK(divide_memory(1000 * megabyte, sizes, {}, "index").resident_rows);
  CHECK_FALSE(divide_memory(6400 * megabyte, sizes, {}, "index").whole_index);
  CHECK(divide_memory(8000 * megabyte, sizes, {}, "index").whole_index);
  gpu::GpuMemoryOptions measured;
  measured.list_share = 0.1;
  const MemoryDivision tenth = divide_memory(8000 * megabyte, sizes, measured, "index");
  CHECK_FALSE(tenth.whole_index);
  CHECK(tenth.lists == 600 * megabyte);
}

TEST_CASE("where list buffers need more memory than the whole index, its need is reported", "[gpu_store]") {
  const IndexSizes sizes{megabyte, megabyte, 40 * megabyte, 66 * megabyte};
  for (const auto& [decoding, least] : {std::pair{0, 105 * megabyte / 2}, std::pair{256, 138 * megabyte}}) {
    gpu::GpuMemoryOptions memory;
    memory.needs = {0, 0, static_cast<std::size_t>(decoding)};
    memory.list_buffer = 1000 * megabyte;
    CHECK(divide_memory(least, sizes, memory, "index").whole_index);
    for (const std::uint64_t limit : {megabyte, least - 1})
      CHECK_THROWS_WITH(
          divide_memory(limit, sizes, memory, "index"),
          Catch::Contains("at least " + size_text(least) + " of its memory, which holds the whole index"));
    memory.list_buffer = megabyte;
    CHECK_THROWS_WITH(divide_memory(2 * megabyte, sizes, memory, "index"), Catch::Contains("twice the list buffer"));
  }
}

TEST_CASE("more memory gives no batch, window or list less of it", "[gpu_store][property]") {
  RandomBits random(11);
  for (unsigned i = 0; i < 200; ++i) {
    const IndexSizes sizes{random.below(400) * megabyte, random.below(400) * megabyte, random.below(8000) * megabyte,
                           random.below(30000) * megabyte};
    gpu::GpuMemoryOptions memory;
    if (i % 2 == 0) memory.needs = {0, 0, 1 + random.below(65535)};
    std::optional<MemoryDivision> less;
    for (std::uint64_t limit = sizes.tables + 7 * megabyte; limit < 12000 * megabyte; limit += limit / 8) {
      const MemoryDivision division = divide_memory(limit, sizes, memory, "index");
      if (division.whole_index) break;
      if (less && less->resident_rows == division.resident_rows) {
        REQUIRE(division.per_batch + 64 >= less->per_batch);  // sizes of lists and rows are rounded
        REQUIRE(division.windows >= less->windows);
        REQUIRE(division.lists >= less->lists);
      }
      less = division;
    }
  }
}

TEST_CASE("where batches decode lists, the whole index stays only beside all decoded lists", "[gpu_store]") {
  const IndexSizes sizes{100 * megabyte, 120 * megabyte, 5400 * megabyte, 13000 * megabyte};
  const auto divided = [&](std::uint64_t megabytes, std::size_t queries) {
    gpu::GpuMemoryOptions memory;
    memory.needs = {0, 0, queries};
    return divide_memory(megabytes * megabyte, sizes, memory, "index");
  };
  CHECK(divided(8192, 0).whole_index);
  for (const std::uint64_t megabytes : {8192, 16384}) {
    const MemoryDivision division = divided(megabytes, 16384);
    CHECK_FALSE(division.whole_index);
    CHECK(division.all_lists);
    CHECK(division.lists == sizes.lists);
    // All other memory is for decoded lists.
    CHECK(2 * (division.per_batch - division.queries) > (megabytes - 6400) * megabyte);
  }
  CHECK(divided(32768, 16384).whole_index);
  // Small batches need less memory for queries, which is then for lists.
  CHECK_FALSE(divided(2048, 16384).all_lists);
  CHECK(divided(2048, 16384).lists > 1000 * megabyte);
  CHECK(divided(2048, 256).lists > 1300 * megabyte);
}

TEST_CASE("pinned memory is divided so that batches get most of it", "[gpu_store][property]") {
  RandomBits random(5);
  for (unsigned i = 0; i < 2000; ++i) {
    const std::uint64_t limit = random.below(std::uint64_t{1} << random.below(40));
    INFO("limit " << limit);
    if (limit < 8 * megabyte) {
      CHECK_THROWS_WITH(gpu::divide_pinned(limit),
                        Catch::Contains("needs at least 8") && Catch::Contains(option_name<"memory">));
      CHECK_THROWS_AS(gpu::divide_pinned(limit), OutOfMemory);
      continue;
    }
    const gpu::PinnedDivision division = gpu::divide_pinned(limit);
    REQUIRE(division.limit == limit);
    REQUIRE(gpu::staging_buffers * division.staging + 2 * division.upload <= limit / 4);
    REQUIRE(division.staging >= megabyte / 4);
    REQUIRE(division.upload >= megabyte / 4);
  }
  const gpu::PinnedDivision any = gpu::divide_pinned({});
  CHECK(any.upload == 32 * megabyte);
  CHECK(any.staging == 4 * megabyte);
  gpu::GpuMemoryOptions options;
  CHECK_FALSE(options.per_gpu(2).pinned_bytes);
  options.pinned_bytes = 30 * megabyte;
  CHECK(options.per_gpu(3).pinned_bytes == 10 * megabyte);
}

TEST_CASE("pinned memory is counted separately from a GPU's", "[gpu_store]") {
  gpu::MemoryAccount pinned(1024);
  pinned.take(gpu::MemoryUse::pinned, 700);
  CHECK_THROWS_WITH(pinned.take(gpu::MemoryUse::pinned, 100), Catch::Contains("more of host memory"));
  CHECK(pinned.peak_taken() == 1024);
}

TEST_CASE("an account of all memory counts and limits the allocations of its parts", "[gpu_store]") {
  gpu::MemoryAccount whole(2048), lists(1536, &whole), batch(1536, &whole);
  lists.take(gpu::MemoryUse::lists, 1024);
  CHECK_THROWS_AS(batch.take(gpu::MemoryUse::batch, 1025), GpuOutOfMemory);
  CHECK(batch.taken() == 0);
  batch.take(gpu::MemoryUse::batch, 512);
  CHECK(whole.taken() == 1536);
  lists.give_back(gpu::MemoryUse::lists, 1024);
  batch.take(gpu::MemoryUse::working, 1024);
  CHECK(whole.taken() == 1536);
  CHECK(whole.peak_taken() == 1536);
  CHECK_THROWS_AS(batch.take(gpu::MemoryUse::batch, 1), GpuOutOfMemory);
}

TEST_CASE("an account refuses to exceed its limit, and counts returned memory", "[gpu_store]") {
  gpu::MemoryAccount account(10240);
  account.take(gpu::MemoryUse::lists, 1);
  account.take(gpu::MemoryUse::rows, 5120);
  CHECK(account.taken() == 5632);
  CHECK_THROWS_AS(account.take(gpu::MemoryUse::batch, 4609), GpuOutOfMemory);
  CHECK(account.taken() == 5632);
  account.give_back(gpu::MemoryUse::rows, 5120);
  account.take(gpu::MemoryUse::batch, 9728);
  CHECK(account.left() == 0);
  CHECK(account.peak()[static_cast<std::size_t>(gpu::MemoryUse::rows)] == 5120);
}

}  // namespace quern
