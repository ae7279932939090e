#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/statistics_file.hpp"

/// The scale of quantized impacts over splits: the greatest term score, a maximum, which merges in any order.
namespace quern {

/// The greatest term score of the collection's postings, with the statistics' IDF and average length. Reads all forward
/// lists. Throws InvalidArgument if the collection isn't a split of the statistics, or has given weights, whose scale
/// needs no search.
Scales find_scales(const CollectionReader& collection, const StatisticsReader& statistics, const Bm25Parameters& bm25,
                   const Resources& resources);

/// Merges scales of several splits. Throws InvalidArgument if their statistics or parameters differ, or if they share a
/// split. Names are for messages.
Scales merge_scales(const std::vector<Scales>& inputs, const std::vector<std::string>& names);

}  // namespace quern
