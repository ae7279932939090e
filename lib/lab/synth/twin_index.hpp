#pragma once
#include "quern/index/build_index.hpp"
#include "quern/io/file.hpp"

/// Indexes of any size that imitate an index of documents with given weights.
namespace quern {

struct TwinOptions {
  std::uint64_t documents = 0;  ///< at least 1
  std::uint64_t seed = 1;
  BuildOptions build;  ///< bits of weights are the source's
};

/// Makes an index whose documents are mixtures of the source's: each takes a term with its weight from the first parent
/// in four of five cases, otherwise from the second, and varies the weight by some 10 %. So document frequencies grow
/// with the number of documents, while sizes, weights, and which terms occur together stay alike; a list keeps at least
/// one posting. The bytes depend on the source and the options alone. Throws InvalidArgument for options out of range,
/// a source without given weights or without documents, and too small a memory budget; IoError if the disk has too
/// little space; CorruptFile if a list of the source can't be decoded.
BuildReport synthesize_twin(const IndexReader& source, const TwinOptions& options, const Resources& resources,
                            File& out);

}  // namespace quern
