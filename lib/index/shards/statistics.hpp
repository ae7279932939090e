#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/statistics_file.hpp"

/// Statistics of the splits of a corpus: sums of integers, which are the same in whatever order and tree they are made.
namespace quern {

/// Writes the statistics of a collection.
void write_statistics(const CollectionReader& collection, const Resources& resources, File& out);

/// Writes the statistics of all documents of several: the same bytes in any order and any tree. Reads one after the
/// other in small pieces, which take about the memory budget's half. Throws InvalidArgument if two have a split in
/// common, or were made with other settings or libraries, or hold too many documents together.
StatisticsManifest merge_statistics(const std::vector<StatisticsReader>& inputs, const Resources& resources, File& out);

/// Some docnos of the collections that several of their documents have, at most `most`, in byte order.
std::vector<std::string> repeated_docnos(const StatisticsReader& statistics,
                                         const std::vector<CollectionReader>& collections, std::size_t most);

}  // namespace quern
