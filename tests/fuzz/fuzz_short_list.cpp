#include <cstdlib>
#include <vector>

#include "quern/codec/short_list.hpp"
#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"

/// Byte 0 is the number of postings, bytes 1 to 4 that of documents. Any other bytes give docIDs that ascend and are in
/// range, and encoding them again takes no more bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  if (size < 5) return 0;
  const std::size_t count = 1 + data[0] % max_short_list;
  const docid_t num_documents = std::min(load_le<docid_t>(data + 1), end_docid - 1);
  const ByteView bytes(data + 5, size - 5);
  std::vector<docid_t> docids(count);
  std::vector<freq_t> freqs(count);
  try {
    get_short_list(bytes, num_documents, docids, freqs);
  } catch (const CorruptFile&) {
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (docids[i] >= num_documents || (i > 0 && docids[i] <= docids[i - 1]) || freqs[i] == 0) std::abort();
  Bytes again;
  put_short_list(docids, freqs, num_documents, again);
  if (again.size() > bytes.size()) std::abort();
  return 0;
}
