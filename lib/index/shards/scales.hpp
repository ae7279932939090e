#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/statistics_file.hpp"

/// The scale of quantized impacts over splits: the greatest term score of all, a maximum, which merges in any order.
namespace quern {

/// The greatest term score of the collection's postings, with the IDF and the average length of the statistics, of
/// which the collection must be a split: throws InvalidArgument if it is not, or has given weights, whose scale needs
/// no search. Reads all forward lists.
Scales find_scales(const CollectionReader& collection, const StatisticsReader& statistics, const Bm25Parameters& bm25,
                   const Resources& resources);

/// Those of all splits of several. Throws InvalidArgument if they are of other statistics or parameters, or have a
/// split in common. Names are for messages.
Scales merge_scales(const std::vector<Scales>& inputs, const std::vector<std::string>& names);

}  // namespace quern
