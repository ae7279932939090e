#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"

namespace quern::gpu {

/// Where a list of several blocks stands in the index's sections. What is its place in a batch is left as it is made.
ListView coded_view(const IndexReader& index, const PostingList& list);

}  // namespace quern::gpu
