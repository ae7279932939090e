#pragma once
#include <span>
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/search/algorithm.hpp"

/// What the time of a query is predicted from, before it runs.
namespace quern {

/// Takes a further list of a query, of an index with blocks of so many postings, into its features.
void add_list(QueryFeatures& of, const PostingList& list, std::uint32_t block_size);

/// The features of a query with these lists, as QueryEngine::lists_of() returns them. All 0 for an intersection of
/// which the index lacks a term.
QueryFeatures features_of(std::span<const WeightedList> lists, bool all_found, std::uint32_t block_size,
                          Matching matching);

/// The features of a query with these terms. All 0 for an intersection of which the index lacks a term, since it reads
/// no list. Throws what IndexReader::find() throws.
QueryFeatures features_of(const IndexReader& index, std::vector<std::string> terms, Matching matching);

}  // namespace quern
