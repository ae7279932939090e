#pragma once
#include <mutex>

#include "quern/api/index.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/search/document_set.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::api {

/// An open index, with the objects that its users share.
struct Index::Impl {
  Impl(IndexShards opened, std::string first_path);

  /// The shard of a document. Throws InvalidArgument if the document does not exist.
  IndexShards::Place place(std::uint32_t docid) const;
  /// The index. Throws InvalidArgument if it is in several shards.
  const IndexReader& whole() const;
  /// Texts by shard, opened at the first call. Throws InvalidArgument if the index has none.
  std::span<const TextsReader> texts();

  const IndexShards shards;
  const std::string path;
  SparePool<Analyzer> analyzers;

 private:
  std::mutex texts_mutex_;
  std::vector<TextsReader> texts_;
};

struct Filter::Impl {
  explicit Impl(std::vector<DocumentSet> sets) : passing(std::move(sets)) {
    for (const DocumentSet& set : passing) by_shard.push_back(&set);
  }

  /// Memory of the sets.
  std::uint64_t bytes() const;

  const std::vector<DocumentSet> passing;  ///< by shard
  std::vector<const DocumentSet*> by_shard;
};

}  // namespace quern::api
