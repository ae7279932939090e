#include "quern/gpu/intersect/intersect_arrays.hpp"

#include <algorithm>

namespace quern::gpu {
namespace {

constexpr std::uint32_t parts_of(std::uint64_t size, std::uint32_t part) {
  return static_cast<std::uint32_t>((size + part - 1) / part);
}

}  // namespace

void IntersectArrays::clear() {
  lists.clear();
  terms.clear();
  queries.clear();
  places.clear();
  raw_docids.clear();
  unpack.clear();
  coded_queries = coded_parts = parts = unpack_blocks = unpack_pieces = 0;
  unpack_entries = unpack_words = result_words = max_documents = 0;
  first_docid = 0;
  end_docid = std::numeric_limits<std::uint32_t>::max();
}

void IntersectArrays::unpack_to(std::uint32_t list, const UnpackedPlace& place, std::uint64_t words,
                                std::uint32_t documents, std::uint32_t block_size) {
  UnpackTask& task = unpack.emplace_back();
  task.list = lists[list].coded;
  task.list.first_block = unpack_blocks;
  task.to = lists[list].unpacked = place;
  task.postings = task.list.end_posting(block_size) - task.list.first_posting(block_size);
  task.first_entry = unpack_entries;
  task.first_piece = unpack_pieces;
  unpack_blocks += task.list.rows_end() - task.list.begin_block;
  unpack_pieces += parts_of(place.words, zeroed_piece);
  unpack_words += words;
  if (place.format == ListFormat::buckets) unpack_entries += bucket_entries(documents, place.bucket_shift);
}

void IntersectArrays::cut(IntersectQuery& query, const PartSizes& sizes, const IndexReader& index) {
  const IntersectList& shortest = lists[terms[query.first_term]];
  // An unpacked list is taken whole, whatever a window has of its blocks.
  const std::uint32_t block_size = index.block_size();
  const std::uint32_t postings =
      query.coded == 0 ? shortest.coded.df
                       : shortest.coded.end_posting(block_size) - shortest.coded.first_posting(block_size);
  std::uint32_t all = postings;
  if (query.coded != 0) {
    query.part_size = sizes.blocks * block_size;
    if (shortest.coded.raw != 0) query.part_size = std::max(query.part_size, all);
  } else if (shortest.unpacked.format == ListFormat::bits) {
    query.bits = 1;
    result_words = (result_words + 3) / 4 * 4;  // four words are written at a time
    query.part_size = sizes.words_of_bits;
    all = bit_words(static_cast<std::uint32_t>(index.num_documents()));
  } else {
    query.part_size = sizes.documents == 0 ? all : sizes.documents;
  }
  query.first_part = parts;
  query.first_word = result_words;
  parts += parts_of(all, query.part_size);
  result_words += all;
  max_documents += postings;
}

void IntersectArrays::cut_all(std::span<const IntersectQuery> added, std::span<const std::uint8_t> left_out,
                              const PartSizes& sizes, const IndexReader& index) {
  places.assign(added.size(), not_there);
  queries.clear();
  result_words = max_documents = 0;
  for (const std::uint32_t coded : {1u, 0u}) {
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i].coded != coded || left_out[i] != 0) continue;
      places[i] = static_cast<std::uint32_t>(queries.size());
      cut(queries.emplace_back(added[i]), sizes, index);
    }
    if (coded == 0) break;
    coded_queries = static_cast<std::uint32_t>(queries.size());
    coded_parts = parts;
  }
}

}  // namespace quern::gpu
