#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/query/block_reader.hpp"

/// Ways to intersect posting lists, without scores: the documents of the shortest list are thinned out by one longer
/// list after another.
namespace quern {

struct IntersectionOptions {
  /// stride alone: docIDs a segment. Wu's paper gives no length.
  unsigned segment = 32;
};

/// Leaves in `common`, whose docIDs rise, those that are in `list` too. One of the two functions is there.
struct IntersectionMethod {
  /// As --method takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Thins out by a list that was decoded as a whole; it has one docID at least.
  void (*thin_out)(std::vector<docid_t>& common, std::span<const docid_t> list,
                   const IntersectionOptions& options) = nullptr;
  /// Thins out by a list whose blocks are decoded as they are needed.
  void (*thin_out_coded)(std::vector<docid_t>& common, BlockReader& list) = nullptr;
  /// Whether IntersectionOptions::segment counts for it.
  bool uses_segment = false;
};

/// All methods, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<IntersectionMethod>& all_intersection_methods();

/// Throws InvalidArgument, with the names there are, where no method is called so.
const IntersectionMethod& intersection_method_named(std::string_view name);

/// Blocks in which no document of `common` can lie, by their greatest docIDs, are passed over; in the others docIDs are
/// compared sixteen at a time.
void thin_out_by_blocks(std::vector<docid_t>& common, BlockReader& list);
/// Steps through the list a segment at a time, and searches back inside the segment that is not below a document: the
/// CPU's method in Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection (ISPAN 2009), Figure 2.
void thin_out_by_stride(std::vector<docid_t>& common, std::span<const docid_t> list,
                        const IntersectionOptions& options);
/// Doubles its step until it has passed a document, then halves what lies between (Bentley, Yao: An Almost Optimal
/// Algorithm for Unbounded Searching, Information Processing Letters 5, 1976).
void thin_out_by_galloping(std::vector<docid_t>& common, std::span<const docid_t> list,
                           const IntersectionOptions& options);
/// Looks at every docID of both in turn: the yardstick.
void thin_out_by_merging(std::vector<docid_t>& common, std::span<const docid_t> list,
                         const IntersectionOptions& options);

}  // namespace quern
