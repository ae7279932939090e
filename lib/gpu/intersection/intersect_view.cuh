#pragma once
#include "quern/gpu/intersection/document_buckets.hpp"
#include "quern/gpu/intersection/intersect_batch.hpp"

namespace quern::gpu {

/// A batch to intersect on the device, with what is found.
struct IntersectView {
  const IntersectList* lists = nullptr;
  const std::uint32_t* terms = nullptr;
  const IntersectQuery* queries = nullptr;
  const std::uint32_t* raw_docids = nullptr;
  const UnpackTask* unpack = nullptr;
  std::uint32_t num_unpack = 0, unpack_blocks = 0;
  std::uint64_t unpack_entries = 0;
  std::uint32_t num_queries = 0, coded_queries = 0;
  std::uint32_t num_parts = 0, coded_parts = 0;
  std::uint32_t num_documents = 0;  ///< of the collection
  unsigned levels = 0;              ///< of merge-find

  std::uint32_t* unpacked = nullptr;   ///< the memory for unpacked lists
  std::uint32_t* room = nullptr;       ///< see IntersectQuery
  std::uint32_t* counts = nullptr;     ///< documents that each part found
  std::uint32_t* offsets = nullptr;    ///< of each part's among those of its tile of parts
  std::uint32_t* tile_sums = nullptr;  ///< documents of the tiles before each
  std::uint32_t* begins = nullptr;     ///< of each query's documents among all, and behind the last the end
  std::uint32_t* documents = nullptr;  ///< all, packed
  std::uint32_t* next_part = nullptr;  ///< three queues: of parts that decode, of others, and of all to be packed
};

/// A list that needs no decoding.
struct UnpackedList {
  const std::uint32_t* words = nullptr;   ///< rising docIDs, or bits
  const std::uint32_t* starts = nullptr;  ///< the directory of buckets
  std::uint32_t df = 0;
  ListForm form = ListForm::documents;
  std::uint8_t bucket_shift = 0;

  __device__ UnpackedList(const IntersectView& batch, const IntersectList& list)
      : words(list.coded.raw != 0 ? batch.raw_docids + list.coded.first_word
                                  : batch.unpacked + list.unpacked.first_word),
        starts(batch.unpacked + list.unpacked.first_bucket),
        df(list.coded.df),
        form(list.unpacked.form),
        bucket_shift(list.unpacked.bucket_shift) {}

  /// Whether it has a document, of those of the collection.
  __device__ bool has(std::uint32_t docid) const {
    if (form == ListForm::bits) return words[docid >> 5] >> (docid & 31) & 1;
    if (form == ListForm::buckets) return bucket_has(words, df, starts, bucket_shift, docid);
    const std::uint32_t place = lower_bound(words, 0, df, docid);
    return place < df && words[place] == docid;
  }
};

}  // namespace quern::gpu
