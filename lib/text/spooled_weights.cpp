#include "quern/text/spooled_weights.hpp"

#include "quern/core/bytes.hpp"

namespace quern {

void SpooledWeights::append(std::string_view term, std::uint32_t weight) {
  record_.clear();
  put_string(record_, term);
  put_varint(record_, weight);
  bytes_.append(record_);
  ++count_;
}

void SpooledWeights::clear() {
  bytes_.clear();
  count_ = 0;
}

}  // namespace quern
