#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/intersect/unpacked_lists.hpp"

/// A batch of intersections, as kernels take it.
namespace quern::gpu {

/// A list: coded, as in the index, and unpacked if it has been. The postings of a short list come with the batch; its
/// format is `documents`, and coded.raw is 1.
struct IntersectList {
  ListView coded;
  UnpackedPlace unpacked;
};

/// A query. Its shortest list is cut into *parts*, each with its own space for the documents that it finds.
struct IntersectQuery {
  std::uint32_t first_term = 0, terms = 0;  ///< in IntersectArrays::terms, shortest list first
  std::uint32_t first_part = 0;
  std::uint32_t part_size = 0;   ///< words per part, of the list and of space for results: docIDs, or 32 bits each
  std::uint64_t first_word = 0;  ///< of its space for results
  std::uint32_t coded = 0;       ///< 1 if a list must be decoded, else 0
  std::uint32_t bits = 0;        ///< 1 if its results are bits, 0 if they are docIDs
};

/// A list that is unpacked before the batch is answered.
struct UnpackTask {
  ListView list;  ///< list.first_block: the number of its first block among those of all tasks
  UnpackedPlace to;
  std::uint32_t postings = 0;     ///< in the blocks that are unpacked
  std::uint32_t first_piece = 0;  ///< number of the first piece of its docIDs or bits among those of all tasks
  std::uint64_t first_entry = 0;  ///< number of its directory's first entry among those of all tasks
};

/// Words that a warp fills with zeros at a time: a piece of a list that is to be unpacked.
inline constexpr std::uint32_t zeroed_piece = 4096;

/// The size of a part, by the format of the shortest list.
struct PartSizes {
  std::uint32_t blocks = 1;            ///< of a coded list
  std::uint32_t documents = 512;       ///< of unpacked docIDs; 0: all in one part
  std::uint32_t words_of_bits = 1024;  ///< of bits
};

/// A batch in host memory, or its part in a window of documents. Kernels take queries that decode lists before the
/// others.
struct IntersectArrays {
  /// In `places`: the query is not there.
  static constexpr std::uint32_t not_there = 0xffffffffu;

  /// Removes all, but keeps memory.
  void clear();
  /// Lets a coded list's blocks be unpacked to a place, which takes `words` with its directory, for `documents`
  /// documents.
  void unpack_to(std::uint32_t list, const UnpackedPlace& place, std::uint64_t words, std::uint32_t documents,
                 std::uint32_t block_size);
  /// Makes `queries` of those added queries for which `left_out` is 0, cuts them into parts, and gives each part its
  /// space for results.
  void cut_all(std::span<const IntersectQuery> added, std::span<const std::uint8_t> left_out, const PartSizes& sizes,
               const IndexReader& index);

  std::vector<IntersectList> lists;
  std::vector<std::uint32_t> terms;       ///< numbers of lists
  std::vector<IntersectQuery> queries;    ///< in the kernels' order
  std::vector<std::uint32_t> places;      ///< places[i]: where the query added i-th is in `queries`, or not_there
  std::vector<std::uint32_t> raw_docids;  ///< of short lists
  std::vector<UnpackTask> unpack;
  std::uint32_t coded_queries = 0, coded_parts = 0, parts = 0;
  std::uint32_t unpack_blocks = 0;   ///< of all tasks
  std::uint64_t unpack_entries = 0;  ///< of all tasks' directories
  std::uint32_t unpack_pieces = 0;   ///< of all tasks: see zeroed_piece
  std::uint64_t unpack_words = 0;    ///< that the tasks write
  std::uint64_t result_words = 0;    ///< of space for all parts' results; an upper bound before queries are cut
  std::uint64_t max_documents = 0;   ///< upper bound of the documents that all queries find
  /// The window's documents: blocks at its borders have others, too.
  std::uint32_t first_docid = 0, end_docid = std::numeric_limits<std::uint32_t>::max();

 private:
  void cut(IntersectQuery& query, const PartSizes& sizes, const IndexReader& index);
};

}  // namespace quern::gpu
