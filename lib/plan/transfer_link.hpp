#pragma once

namespace quern {

/// What lists travel over from the host's memory to a GPU's.
struct TransferLink {
  double gigabytes_per_second = 0;  ///< of 10^9 bytes, above 0

  double us_per_byte() const { return 1e-3 / gigabytes_per_second; }
};

}  // namespace quern
