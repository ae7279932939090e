#include <algorithm>
#include <array>
#include <cstdlib>

#include "quern/codec/bit_packing.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/verify_index.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"

namespace {

using namespace quern;

/// Moves a cursor through a list by steps or jumps; every docID is in the index.
void read_list(const IndexReader& index, const PostingList& list, docid_t leap) {
  PostingCursor cursor(index, list);
  for (std::uint64_t steps = 0; cursor.docid() != end_docid; ++steps) {
    if (cursor.docid() >= index.num_documents() || steps > list.df) std::abort();
    if (cursor.freq() == 0) std::abort();
    if (leap == 0) {
      cursor.next();
      continue;
    }
    const docid_t target = cursor.docid() + leap;
    if (target < cursor.docid()) break;
    cursor.next_geq(target);
    if (cursor.docid() < target) std::abort();
  }
}

/// Quantized impacts are the same block by block and one by one, and have the list's width.
void read_impacts(const IndexReader& index, const PostingList& list) {
  if (list.impacts.empty()) return;
  std::array<std::uint32_t, max_block_size + unpack_slack> impacts;
  for (std::size_t block = 0; block < list.num_blocks(index.block_size()); ++block) {
    const std::uint64_t left = list.df - block * index.block_size();
    const auto n = static_cast<unsigned>(std::min<std::uint64_t>(index.block_size(), left));
    const std::uint32_t* words = impact_block(list.impacts, list.impact_width, index.block_size(), block);
    decode_impacts(words, list.impact_width, n, impacts.data());
    for (unsigned place = 0; place < n; ++place)
      if (impacts[place] != impact_at(words, list.impact_width, place) || impacts[place] >> list.impact_width > 0)
        std::abort();
  }
  if (index.quantized_max_impact(list) > index.quantizer()->levels()) std::abort();
}

void read_lists(const IndexReader& index) {
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    fuzz::ignore_corruption([&] {
      index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
        for (const docid_t leap : {0u, 1u, 100u}) fuzz::ignore_corruption([&] { read_list(index, list, leap); });
        fuzz::ignore_corruption([&] { index.find(term); });
        read_impacts(index, list);
      });
    });
  }
}

void read_documents(const IndexReader& index) {
  std::uint64_t sum = 0;
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    fuzz::ignore_corruption([&] {
      for (const char c : index.docno(docid)) sum += static_cast<unsigned char>(c);
      const auto found = index.find_docno(index.docno(docid));
      if (found && *found >= index.num_documents()) std::abort();
    });
    if (docid % 16 == 0) fuzz::ignore_corruption([&] { sum += index.text(docid).url.size(); });
    sum += index.length(docid);
  }
  for (const auto scores : {index.pagerank(), index.global_scores()})
    for (const float score : scores) sum += score > 1;
  [[maybe_unused]] volatile std::uint64_t kept = sum;  // keeps the compiler from removing the reads
}

}  // namespace

/// For any contents of an index's sections, reading stays in bounds, and cursors give docIDs of the index.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const IndexReader index = fuzz::index_around({data, size});
    read_lists(index);
    read_documents(index);
    for (const char* docno : {"", "d0", "unknown"}) fuzz::ignore_corruption([&] { index.find_docno(docno); });
    verify_index(index, default_resources());
  } catch (const Error&) {
  }
  return 0;
}
