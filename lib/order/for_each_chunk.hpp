#pragma once
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "quern/core/job_pipeline.hpp"
#include "quern/core/resources.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/formats/collection.hpp"

namespace quern {

/// Maximum memory for reading documents and links of any chunk, and the same again for the results.
std::uint64_t link_reading_bytes(const CollectionReader& collection);
/// Maximum memory for counting the postings of any chunk (ForwardPostings).
std::uint64_t posting_reading_bytes(const CollectionReader& collection);

/// Calls work(reader, chunk) for all chunks of the collection, with a reader that no other thread uses at the time, on
/// as many threads as fit in `memory_bytes` with `reading_bytes` each, at least one. make() returns a
/// std::unique_ptr<Reader>.
template <class Reader, class Make, class Work>
void for_each_chunk(const CollectionReader& collection, std::uint64_t reading_bytes, std::uint64_t memory_bytes,
                    const Resources& resources, JobPool<Reader>& readers, Make&& make, Work&& work) {
  const std::uint64_t fitting = memory_bytes / std::max<std::uint64_t>(reading_bytes, 1);
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(fitting, 1, resources.threads));
  on_threads(threads, [&] {
    tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
      Reader* const reader = readers.take(make);
      work(*reader, chunk);
      readers.give_back(reader);
      resources.progress->add(collection.chunk(chunk).documents);
    });
  });
}

/// As above with default-constructed readers.
template <class Reader, class Work>
void for_each_chunk(const CollectionReader& collection, std::uint64_t reading_bytes, std::uint64_t memory_bytes,
                    const Resources& resources, Work&& work) {
  JobPool<Reader> readers;
  for_each_chunk(
      collection, reading_bytes, memory_bytes, resources, readers, [] { return std::make_unique<Reader>(); },
      std::forward<Work>(work));
}

}  // namespace quern
