#pragma once
#include <span>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/forward/build_forward.hpp"

/// The files beside an index that is put together from documents of others: the whole from its shards, or a shard from
/// the whole.
namespace quern {

/// Documents of an index, in a row.
struct IndexPart {
  const IndexReader& index;
  DocidRange docids;
};
/// All documents of all shards.
std::vector<IndexPart> parts_of(const IndexShards& shards);

/// Writes the texts of these documents, which make the index with this content hash: the bytes of build_texts(). Throws
/// InvalidArgument if an index lacks texts.
TextsReport copy_texts(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                       File& out);
/// The same of kept fields.
FieldsReport copy_fields(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                         File& out);
/// The same of forward files. `to`: the index that these documents make.
ForwardReport copy_forward(std::span<const IndexPart> parts, const IndexReader& to, const Resources& resources,
                           File& out);

}  // namespace quern
