#pragma once
#include <cstdint>
#include <numeric>

#include "quern/core/types.hpp"
#include "quern/synth/seeded_noise.hpp"

namespace quern {

/// Documents by popularity: rank 0 is the one that is linked most. A fixed bijection that scatters neighbours, so that
/// neither ranks nor documents need a table.
class PopularDocuments {
 public:
  PopularDocuments(docid_t documents, std::uint64_t seed) : documents_(documents) {
    constexpr std::uint64_t purpose = 0x9097;
    shift_ = noise_bits(seed, purpose) % documents;
    // Near the golden section, so that close ranks are far from each other; without a common factor, so that it is a
    // bijection.
    factor_ = static_cast<std::uint64_t>(static_cast<double>(documents) * 0.6180339887498949) | 1;
    while (std::gcd(factor_, std::uint64_t{documents}) != 1) ++factor_;
  }
  docid_t at(docid_t rank) const { return static_cast<docid_t>((rank * factor_ + shift_) % documents_); }

 private:
  std::uint64_t documents_, shift_, factor_;
};

}  // namespace quern
