#include "quern/search/list_bitmaps.hpp"

#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

/// Kernels read whole registers of impacts.
constexpr std::size_t impact_slack = 64;

std::size_t windows_of(const IndexReader& index) {
  return (std::size_t{index.num_documents()} + bitmap_window - 1) / bitmap_window;
}

}  // namespace

ListBitmap::ListBitmap(const IndexReader& index, const PostingList& list)
    : bits_(windows_of(index) * bitmap_block),
      ranks_(bits_.size()),
      maxima_(bits_.size()),
      postings_before_(windows_of(index)),
      copied_(copied_bytes(index, list)),
      impacts_(copied_.empty() ? impact_bytes(index, list) : copied_.data()) {
  std::size_t posting = 0;
  for_each_block(index, list, [&](BlockReader& block) {
    const auto docids = block.docids();
    const auto impacts = block.quantized_impacts();
    for (std::size_t i = 0; i < docids.size(); ++i) {
      const std::size_t at = docids[i] / bitmap_block;
      const auto impact = static_cast<std::uint8_t>(impacts[i]);
      bits_[at] |= std::uint64_t{1} << docids[i] % bitmap_block;
      maxima_[at] = std::max(maxima_[at], impact);
      if (!copied_.empty()) copied_[posting++] = impact;
    }
  });
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    if (i % bitmap_block == 0) postings_before_[i / bitmap_block] = before;
    ranks_[i] = static_cast<std::uint16_t>(before - postings_before_[i / bitmap_block]);
    before += static_cast<std::uint64_t>(std::popcount(bits_[i]));
  }
}

std::uint64_t ListBitmap::copied_bytes(const IndexReader& index, const PostingList& list) {
  return impact_bytes(index, list) ? 0 : list.df + impact_slack;
}

std::uint64_t ListBitmap::bytes(const IndexReader& index, const PostingList& list) {
  constexpr std::uint64_t per_block = sizeof(std::uint64_t) + sizeof(std::uint16_t) + sizeof(std::uint8_t);
  return sizeof(ListBitmap) + windows_of(index) * (bitmap_block * per_block + sizeof(std::uint64_t)) +
         copied_bytes(index, list);
}

const ListBitmap* ListBitmaps::find(const PostingList& list) {
  if (!ListBitmap::suits(index_, list)) return nullptr;
  if (const auto known = bitmaps_.find(list.number); known != bitmaps_.end()) return known->second.get();
  const std::lock_guard lock(making_);
  if (const auto known = bitmaps_.find(list.number); known != bitmaps_.end()) return known->second.get();
  const std::uint64_t bytes = ListBitmap::bytes(index_, list);
  if (bytes > max_bytes_ - bytes_) return nullptr;
  const auto made = bitmaps_.emplace(list.number, std::make_unique<const ListBitmap>(index_, list)).first;
  bytes_ += bytes;
  return made->second.get();
}

}  // namespace quern
