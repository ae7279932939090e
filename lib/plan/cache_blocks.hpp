#pragma once
#include <cstdint>
#include <functional>

#include "quern/core/resources.hpp"
#include "quern/formats/posting_reader.hpp"

/// Caching blocks: the units of posting lists that a plan admits to GPU memory (Wang et al. 3.3.1).
namespace quern {

/// Cuts the lists of an index into caching blocks, each a whole number of index blocks, and computes their sizes. A
/// caching block decodes from its own words, so the first n of a list are one range of its words, and one of its
/// impacts.
class CacheBlocks {
 public:
  static constexpr std::uint64_t min_size = 256;

  /// `size`: postings per caching block. Throws InvalidArgument if it is not a multiple of the index's block size.
  /// Functions that read all lists stay within the memory of `resources`. `with_impacts`: whether the GPU also stores
  /// the impacts that quantized scores need.
  CacheBlocks(const IndexReader& index, std::uint64_t size, const Resources& resources = default_resources(),
              bool with_impacts = false);

  /// The default size: 256, or the index's block size if that is larger.
  static std::uint64_t default_size(const IndexReader& index);

  const IndexReader& index() const { return index_; }
  std::uint64_t size() const { return size_; }
  /// The number of caching blocks of a list; 1 if the index stores it as a single block.
  std::uint64_t count(const PostingList& list) const {
    return list.block_last.empty() ? 1 : (list.df + size_ - 1) / size_;
  }
  /// The caching block whose range contains a docID; count(list) after the last.
  std::uint64_t containing(const PostingList& list, docid_t docid) const;
  /// Postings in the first n blocks.
  std::uint64_t postings(const PostingList& list, std::uint64_t n) const {
    return n >= count(list) ? list.df : n * size_;
  }
  /// GPU memory of the first n blocks: coded words and impacts. 0 for a list of one index block, which is transferred
  /// with its queries.
  std::uint64_t bytes(const PostingList& list, std::uint64_t n) const;
  /// The last docID of the first n blocks, n at least 1 and below count(list).
  docid_t last(const PostingList& list, std::uint64_t n) const { return list.block_last[n * ratio_ - 1]; }
  /// Memory of all coded lists of the index: 100 % for budgets in percent.
  std::uint64_t index_bytes() const { return coded_list_bytes(index_, with_impacts_); }
  /// Memory of all lists that a GPU can cache.
  std::uint64_t kept_bytes() const;
  /// Calls visit(list) for all lists of the index, in the order of terms.
  void for_each_list(const std::function<void(const PostingList&)>& visit) const;

 private:
  const IndexReader& index_;
  std::uint64_t size_, ratio_;  ///< ratio_: index blocks per caching block
  bool with_impacts_;
  unsigned threads_;
  std::uint64_t pages_bytes_;  ///< budget for the mapped index while all lists are read
};

}  // namespace quern
