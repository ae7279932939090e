#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

/// Cuts a file of a corpus, which is not compressed, into ranges of whole records, of about as many bytes: `count`, or
/// fewer where there are fewer records. The documents of all ranges are those of the file, in their order. Reads the
/// file once; what its records say is not looked at. `options`: as the ranges will be parsed with. Throws
/// InvalidArgument if it is no such file, holds no record, or no format fits it; IoError.
std::vector<FileRange> find_ranges(const std::string& path, std::size_t count, const CorpusOptions& options,
                                   const Resources& resources);

}  // namespace quern
