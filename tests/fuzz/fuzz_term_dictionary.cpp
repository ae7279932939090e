#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_dictionary.hpp"

#include "container_fuzzing.hpp"

/// Byte 0 is the number of terms; the sections follow. Reading stays in bounds, and gives no more terms than promised.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  constexpr std::array<std::string_view, 2> names = {"terms", "terms_blocks"};
  if (size == 0) return 0;
  const std::uint64_t num_terms = data[0] == 255 ? UINT64_MAX : data[0];
  const ContainerReader container(fuzz::container_around({data + 1, size - 1}, FileKind::order, names),
                                  FileKind::order);
  std::uint64_t scanned = 0;
  bool whole = false, rising = true;
  try {
    DictionaryScan scan(container, "terms", num_terms);
    std::string last;
    for (DictionaryEntry entry; scan.next(entry);) {
      if (++scanned > num_terms) std::abort();
      rising = rising && (scanned == 1 || entry.term > last);
      last = entry.term;
    }
    whole = true;
  } catch (const CorruptFile&) {
  }
  if (whole && scanned != num_terms) std::abort();
  try {
    const TermDictionary dictionary(container, "terms", num_terms);
    for (const char* term : {"", "a", "m", "term10", "\xff"}) dictionary.block_of(term);
    for (std::uint64_t i = 0; i < dictionary.num_blocks(); ++i) {
      DictionaryBlock block = dictionary.block(i);
      for (DictionaryEntry entry; block.next(entry);) {
        // In a complete, sorted dictionary, each term is found at its own position.
        if (whole && rising && dictionary.block_of(entry.term) != i) std::abort();
      }
    }
  } catch (const CorruptFile&) {
    if (whole) std::abort();
  }
  return 0;
}
