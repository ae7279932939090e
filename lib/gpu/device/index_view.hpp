#pragma once
#include "quern/gpu/device/tuning.hpp"

/// The codings of posting lists that kernels decode. Each has the name of its codec, except rpfd_once: rpfd of
/// recursion 1, which is the default. This is the only list: cmake/cuda.cmake reads it and generates one source per
/// coding and family of kernels. A new coding also needs decoders in decode/decoder.cuh and decode/serial_decoder.hpp.
#define QUERN_GPU_CODINGS(each) each(maskpfd) each(newpfd) each(rpfd) each(rpfd_once) each(rice)

/// Views of an index for kernels: its sections, copied unchanged, and the places of lists in them.
namespace quern {

struct PostingList;

namespace gpu {

enum class Coding : std::uint8_t {
#define QUERN_GPU_CODING(name) name,
  QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
};

/// The serial decoder of rpfd takes any recursion.
constexpr Coding serial_coding(Coding coding) { return coding == Coding::rpfd_once ? Coding::rpfd : coding; }

/// Calls with.operator()<coding>().
template <class With>
void with_coding(Coding coding, With&& with) {
  switch (coding) {
#define QUERN_GPU_CODING(name) \
  case Coding::name:           \
    return with.template operator()<Coding::name>();
    QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
  }
}

struct IndexView {
  const std::uint32_t* postings = nullptr;  ///< sections of formats/index.md
  const std::uint32_t* block_last = nullptr;
  const std::uint32_t* block_offset = nullptr;
  const std::uint16_t* block_max = nullptr;  ///< null if not on the device
  const std::uint32_t* impacts = nullptr;
  const float* constants = nullptr;      ///< the constant K of BM25, per document
  const float* static_scores = nullptr;  ///< per document, added before term scores; null: 0
  const float* upper_bounds = nullptr;   ///< per document, of the scores from it on; null: unknown or not needed
  std::uint32_t num_documents = 0;
  std::uint32_t block_size = 0;
  std::uint32_t recursion = 0;       ///< of rpfd
  std::uint32_t* scratch = nullptr;  ///< of rpfd, per resident warp: see rpfd.cuh
  std::uint32_t* damaged = nullptr;  ///< counts blocks that do not decode
  unsigned left_free = 0;            ///< for launches: see resident_blocks()
};

/// The place of a list. The postings of a `raw` list, a short one from the lexicon, are in the batch: first_word is its
/// place in the batch's raw arrays.
///
/// A coded list may be stored as a front and a tail, each of whole blocks. In a window of documents, the tail has only
/// the window's blocks that are not in the front.
struct ListView {
  std::uint64_t first_word = 0, first_row = 0, first_impact_word = 0;
  std::uint64_t tail_word = 0, tail_impact_word = 0;  ///< begin of the tail
  std::uint32_t words = 0, df = 0;                    ///< words up to the end of the list, or of the window
  std::uint32_t first_block = 0;             ///< in intersections: number of its first block among those of all lists
  std::uint32_t rows = 0;                    ///< block rows; 0 if the list is a single block
  std::uint32_t front_blocks = 0xffffffffu;  ///< the tail's first block; above `rows` if there is no tail
  std::uint32_t front_words = 0;             ///< words of the front; those of the list if there is no tail
  std::uint32_t tail_begin = 0;              ///< the list's words before the tail
  std::uint32_t begin_block = 0, end_block = 0xffffffffu;  ///< of the window; end_block may be above `rows`
  std::uint16_t header_words = 0;
  std::uint8_t impact_width = 0;
  std::uint8_t raw = 0;

  /// The end of a coded list's blocks with rows, or of the window's.
  constexpr std::uint32_t rows_end() const { return end_block < rows ? end_block : rows; }
  /// The first posting of the list's or window's blocks, and the end; 0 and 0 without blocks.
  constexpr std::uint32_t first_posting(std::uint32_t block_size) const {
    return has_blocks() ? begin_block * block_size : 0;
  }
  constexpr std::uint32_t end_posting(std::uint32_t block_size) const {
    if (!has_blocks()) return 0;
    const std::uint64_t end = std::uint64_t{end_block} * block_size;
    return end < df ? static_cast<std::uint32_t>(end) : df;
  }
  /// Whether the list has blocks in the window.
  constexpr bool has_blocks() const { return begin_block < end_block; }
};

/// The number of ranges of docIDs in a collection.
constexpr std::uint32_t num_ranges(docid_t num_documents) {
  return static_cast<std::uint32_t>((std::uint64_t{num_documents} + range_documents - 1) / range_documents);
}

/// The place of a decoded list in the arena of the strategy `range`: an entry per posting, the starts of ranges in the
/// list, and the maximum value in each range.
struct EntryPlace {
  std::uint64_t first_entry = 0;     ///< of posting `begin`; a multiple of 4, since kernels read four at once
  std::uint64_t first_start = 0;     ///< of ranges + 1 starts, followed by a maximum per range
  std::uint32_t begin = 0, end = 0;  ///< postings with entries: all, or those of the window's blocks
  std::uint32_t first_block = 0;     ///< number of its first block among those that the batch decodes
  std::uint32_t blocks = 0;          ///< that the batch decodes; 0: the entries exist
};

/// The places of all lists of a batch or window.
struct EntryPlaces {
  std::vector<EntryPlace> lists;  ///< as in QueryBatch::lists
  std::uint32_t blocks = 0;       ///< to decode in all lists; a raw list counts as one block
};

/// Words of the entries of a list of `postings` postings, and of the starts and maxima of `ranges` ranges.
constexpr std::uint64_t entry_words(std::uint64_t postings) { return (postings + 3) / 4 * 4; }
constexpr std::uint64_t start_words(std::uint32_t ranges) { return (2 * std::uint64_t{ranges} + 1 + 3) / 4 * 4; }

/// The lists of a batch: the views of all, and the numbers and lists of the coded ones to copy or decode.
struct BatchLists {
  std::span<const ListView> views;
  std::span<const std::pair<std::uint32_t, const PostingList*>> coded;
};

}  // namespace gpu

}  // namespace quern
