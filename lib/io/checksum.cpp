#include "quern/io/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <new>

namespace quern {

std::uint64_t xxh3(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct StreamHash::State {
  State() {
    if (state == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* state = XXH3_createState();
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) { restart(); }

StreamHash::~StreamHash() = default;

void StreamHash::restart() { XXH3_64bits_reset(state_->state); }

void StreamHash::add(ByteView bytes) { XXH3_64bits_update(state_->state, bytes.data(), bytes.size()); }

std::uint64_t StreamHash::value() const { return XXH3_64bits_digest(state_->state); }

Hash128 xxh3_128(ByteView bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> hash_of_text(std::string_view text) {
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc() || end != text.data() + text.size() || hash_text(hash) != text) return std::nullopt;
  return hash;
}

}  // namespace quern
