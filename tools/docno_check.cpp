#include "docno_check.hpp"

namespace quern::tools {
namespace {

/// A docno is compared together with its neighbours in the file, many more than this.
constexpr std::uint64_t documents_per_read = 256;

}  // namespace

std::future<void> check_docnos(const IndexReader& index) {
  return std::async(std::launch::async, [&index] {
    for (std::uint64_t docid = 0; docid < index.num_documents(); docid += documents_per_read)
      index.docno(static_cast<docid_t>(docid));
  });
}

}  // namespace quern::tools
