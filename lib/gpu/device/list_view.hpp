#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/index_view.hpp"

namespace quern::gpu {

/// The view of a coded list, without its places in a batch.
ListView coded_view(const IndexReader& index, const PostingList& list);

}  // namespace quern::gpu
