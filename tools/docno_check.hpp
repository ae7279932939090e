#pragma once
#include <future>

#include "quern/formats/index_file.hpp"

namespace quern::tools {

/// Compares the docnos of an index with their checksums in a thread of its own, for runs with so many results that
/// nearly all are read: while GPUs get the index, not while they wait for results to be written. Some may be left for
/// later. Wait for it with get(); its errors are those of the docnos when they are read. The index must outlive it.
std::future<void> check_docnos(const IndexReader& index);

}  // namespace quern::tools
