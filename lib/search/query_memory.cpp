#include "quern/search/query_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/check_range.hpp"
#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/size_text.hpp"

namespace quern {

QueryMemory::QueryMemory(std::uint64_t bytes, unsigned threads) {
  check_range("threads", threads, 1u, std::numeric_limits<unsigned>::max());
  // Concurrent queries share a quarter of the budget; a sixteenth of that quarter is for terms.
  for_terms_ = std::min(bytes / 64, max_for_terms);
  max_share_ = (bytes / 4 - for_terms_) / threads;
  max_alone_ = bytes - bytes / 4;
  with_own_errors([&] { large_ = std::make_unique<std::mutex>(); });
}

void QueryMemory::Claim::raise_to(std::uint64_t bytes) {
  if (bytes > memory_.max_alone_)
    throw InvalidArgument(
        fmt::format("a query needs {} of memory and may have {}; shorten it, ask for fewer results, or raise {}",
                    size_text(bytes), size_text(memory_.max_alone_), option_name<"memory">));
  if (bytes > memory_.max_share_ && !alone_.owns_lock()) alone_ = std::unique_lock(*memory_.large_);
}

}  // namespace quern
