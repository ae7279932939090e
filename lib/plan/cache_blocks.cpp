#include "quern/plan/cache_blocks.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>

#include "quern/search/query_memory.hpp"

namespace quern {

CacheBlocks::CacheBlocks(const IndexReader& index, std::uint64_t size, const Resources& resources, bool with_impacts)
    : index_(index),
      size_(size),
      ratio_(size / index.block_size()),
      with_impacts_(with_impacts),
      threads_(resources.threads),
      pages_bytes_(resources.memory_bytes / 8) {
  if (size == 0 || size % index.block_size() != 0)
    throw InvalidArgument(
        "{}: a caching block of {} postings is not a multiple of the index's block size, {}; choose a multiple",
        index.name(), size, index.block_size());
}

std::uint64_t CacheBlocks::default_size(const IndexReader& index) {
  return std::max<std::uint64_t>(min_size, index.block_size());
}

std::uint64_t CacheBlocks::containing(const PostingList& list, docid_t docid) const {
  if (list.block_last.empty()) return 0;
  const std::size_t block = search_rows(list.block_last, 0, docid);
  return block == list.block_last.size() ? count(list) : block / ratio_;
}

std::uint64_t CacheBlocks::bytes(const PostingList& list, std::uint64_t n) const {
  if (n == 0 || !is_kept(list)) return 0;
  return front_of(list, n * ratio_, index_.block_size(), with_impacts_).size_bytes();
}

std::uint64_t CacheBlocks::kept_bytes() const {
  IndexPages pages(index_, pages_bytes_);
  const auto add = [&](const auto& range, std::uint64_t sum) {
    for (std::uint64_t block = range.begin(); block < range.end(); ++block) {
      index_.for_each_list(block, [&](std::string_view, const PostingList& list) { sum += bytes(list, count(list)); });
      pages.note_block();
    }
    return sum;
  };
  return on_threads(threads_, [&] {
    return tbb::parallel_reduce(tbb::blocked_range<std::uint64_t>(0, index_.num_lexicon_blocks()), std::uint64_t{0},
                                add, std::plus<>());
  });
}

void CacheBlocks::for_each_list(const std::function<void(const PostingList&)>& visit) const {
  IndexPages pages(index_, pages_bytes_);
  for (std::uint64_t block = 0; block < index_.num_lexicon_blocks(); ++block) {
    index_.for_each_list(block, [&](std::string_view, const PostingList& list) { visit(list); });
    pages.note_block();
  }
}

}  // namespace quern
