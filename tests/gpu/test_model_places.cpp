#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/rank/models/ranker_cache.hpp"

#include "catch.hpp"

/// Which models remain in the GPU memory reserved for them.
namespace quern {
namespace {

struct FakeModel {
  std::uint64_t bytes;
  std::uint64_t *taken, *evictions;

  ~FakeModel() {
    *taken -= bytes;
    ++*evictions;
  }
};
using FakePointer = std::shared_ptr<const FakeModel>;

/// Space for models on a GPU with `gpu_bytes`, and models by size.
class FakePlaces {
 public:
  FakePlaces(std::uint64_t bytes, std::uint64_t gpu_bytes, std::vector<std::uint64_t> sizes)
      : gpu_bytes_(gpu_bytes), sizes_(std::move(sizes)), places_(bytes) {}

  FakePointer find(std::size_t i) {
    return places_.find(&sizes_[i], [&] {
      ++prepared_[i];
      return gpu::ModelPlaces<FakeModel>::Wanted{sizes_[i], [this, i]() -> FakePointer {
                                                   if (taken_ + sizes_[i] > gpu_bytes_) return nullptr;
                                                   taken_ += sizes_[i];
                                                   ++loads_;
                                                   return FakePointer(new FakeModel{sizes_[i], &taken_, &evictions_});
                                                 }};
    });
  }

  unsigned prepared(std::size_t i) { return prepared_[i]; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t loads() const { return loads_; }
  std::uint64_t evictions() const { return evictions_; }

 private:
  std::uint64_t taken_ = 0, loads_ = 0, evictions_ = 0, gpu_bytes_;
  std::vector<std::uint64_t> sizes_;
  std::map<std::size_t, unsigned> prepared_;
  gpu::ModelPlaces<FakeModel> places_;
};

}  // namespace

TEST_CASE("the least recently used model is evicted", "[gpu_ranker]") {
  FakePlaces places(100, 1000, {40, 40, 40, 20});
  REQUIRE(places.find(0));
  REQUIRE(places.find(1));
  REQUIRE(places.find(3));
  REQUIRE(places.find(0));
  CHECK(places.loads() == 3);
  REQUIRE(places.find(2));  // replaces 1
  CHECK(places.evictions() == 1);
  CHECK(places.taken() == 100);
  REQUIRE(places.find(0));
  REQUIRE(places.find(3));
  CHECK(places.prepared(0) == 1);
  CHECK(places.prepared(3) == 1);
  REQUIRE(places.find(1));
  CHECK(places.prepared(1) == 2);
  CHECK(places.prepared(2) == 1);
  REQUIRE(places.find(0));
  CHECK(places.loads() == 5);
  CHECK(places.evictions() == 2);
}

TEST_CASE("models in use stay, and models that don't fit next to them are refused", "[gpu_ranker]") {
  FakePlaces places(100, 1000, {60, 30, 50, 101});
  FakePointer first = places.find(0);
  REQUIRE(places.find(1));
  CHECK(places.find(2) == nullptr);
  CHECK(places.find(2) == nullptr);
  CHECK(places.evictions() == 0);
  CHECK(places.prepared(2) == 1);  // a model that doesn't fit is not prepared again
  CHECK(places.find(0) == first);
  first.reset();
  REQUIRE(places.find(2));  // 1 is older than 0; both are evicted
  CHECK(places.evictions() == 2);
  CHECK(places.taken() == 50);
  CHECK(places.find(3) == nullptr);
  CHECK(places.taken() == 50);
}

TEST_CASE("models are evicted if the GPU has less memory than reserved for them", "[gpu_ranker]") {
  FakePlaces places(1000, 100, {40, 40, 70, 200});
  REQUIRE(places.find(0));
  const FakePointer held = places.find(1);
  CHECK(places.find(2) == nullptr);  // 0 was evicted, 1 is in use
  CHECK(places.taken() == 40);
  REQUIRE(places.find(0));
  CHECK(places.find(3) == nullptr);
}

TEST_CASE("models never exceed the memory reserved for them", "[gpu_ranker][property]") {
  RandomBits random(5);
  for (unsigned trial = 0; trial < 50; ++trial) {
    std::vector<std::uint64_t> sizes;
    for (unsigned i = 0; i < 12; ++i) sizes.push_back(1 + random.below(60));
    FakePlaces places(100, 100, sizes);
    std::vector<FakePointer> held(3);
    std::uint64_t calls = 0, refused = 0;
    for (; calls < 300; ++calls) {
      const std::size_t i = random.below(sizes.size());
      FakePointer found = places.find(i);
      refused += found == nullptr;
      if (found) REQUIRE(found->bytes == sizes[i]);
      REQUIRE(places.taken() <= 100);
      held[random.below(held.size())] = random.below(2) == 0 ? found : nullptr;
    }
    CHECK(places.loads() + refused < calls);  // others were found
  }
}

}  // namespace quern
