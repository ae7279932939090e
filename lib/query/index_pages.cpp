#include "quern/query/index_pages.hpp"

namespace quern {

IndexPages::IndexPages(const IndexReader& index, std::uint64_t budget_bytes)
    : index_(index), budget_bytes_(budget_bytes), is_limited_(index.container().file().size() > budget_bytes) {}

void IndexPages::note(std::uint64_t per_measurement) {
  if (!is_limited_ || ++notes_ % per_measurement != 0) return;
  if (resident_file_bytes() > budget_bytes_) index_.container().release();
}

}  // namespace quern
