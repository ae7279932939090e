#include "quern/io/hashing_source.hpp"

#include <xxhash.h>

#include <new>

namespace quern {

struct HashingSource::State {
  State() {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state);
  }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* state = XXH3_createState();
};

HashingSource::HashingSource(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), state_(std::make_unique<State>()) {}

HashingSource::~HashingSource() = default;

std::size_t HashingSource::read(std::span<std::uint8_t> to) {
  const std::size_t size = source_->read(to);
  XXH3_64bits_update(state_->state, to.data(), size);
  return size;
}

std::uint64_t HashingSource::hash() const { return XXH3_64bits_digest(state_->state); }

}  // namespace quern
