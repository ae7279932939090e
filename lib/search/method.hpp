#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/search/query_text.hpp"

/// Methods to intersect posting lists without scores: the documents of the shortest list are intersected with one
/// longer list after another.
namespace quern {

struct IntersectionOptions {
  /// For stride alone: docIDs per segment. Wu et al. give no length.
  unsigned segment = 32;
  QueryText text = QueryText::words;  ///< of vectors, weights don't matter, but that they are not 0
};

/// Keeps in `common`, whose docIDs ascend, those that are also in `list`. Exactly one of the two functions is set.
struct IntersectionMethod {
  /// As options have it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Intersects with a list that has been decoded as a whole and has at least one docID.
  void (*intersect_decoded)(std::vector<docid_t>& common, std::span<const docid_t> list,
                            const IntersectionOptions& options) = nullptr;
  /// Intersects with a list whose blocks are decoded as they are needed.
  void (*intersect_coded)(std::vector<docid_t>& common, BlockReader& list) = nullptr;
  /// Whether IntersectionOptions::segment matters.
  bool uses_segment = false;
};

/// All methods, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<IntersectionMethod>& all_intersection_methods();

/// Throws InvalidArgument, with all names, if no method has this name.
const IntersectionMethod& intersection_method_named(std::string_view name);

/// Skips blocks that, by their last docIDs, cannot contain a document of `common`; compares docIDs of the others
/// sixteen at a time.
void intersect_by_blocks(std::vector<docid_t>& common, BlockReader& list);
/// Steps through the list one segment at a time, and searches backwards in the first segment that does not end below a
/// document: the CPU's method in Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection (ISPAN
/// 2009), Figure 2.
void intersect_by_stride(std::vector<docid_t>& common, std::span<const docid_t> list,
                         const IntersectionOptions& options);
/// Doubles its step until it has passed a document, then searches the last step by halving (Bentley, Yao: An Almost
/// Optimal Algorithm for Unbounded Searching, Information Processing Letters 5, 1976).
void intersect_by_galloping(std::vector<docid_t>& common, std::span<const docid_t> list,
                            const IntersectionOptions& options);
/// Compares the docIDs of both in turn: the baseline.
void intersect_by_merging(std::vector<docid_t>& common, std::span<const docid_t> list,
                          const IntersectionOptions& options);

}  // namespace quern
