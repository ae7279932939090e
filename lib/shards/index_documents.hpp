#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/index/index_assembly.hpp"

namespace quern {

/// The documents of an index, or of all shards of one, for another index.
class IndexDocuments {
 public:
  explicit IndexDocuments(const IndexShards& shards) : shards_(&shards) {}
  explicit IndexDocuments(const IndexReader& index) : index_(&index) {}

  /// By several threads; consecutive documents cost least.
  IndexedDocument at(docid_t docid) {
    const IndexShards::Place place = shards_ == nullptr ? IndexShards::Place{*index_, docid} : shards_->place(docid);
    const IndexReader& shard = place.index;
    const docid_t in_shard = place.docid;
    Group& group = groups_.local();
    if (group.shard != &shard || in_shard / texts_per_block != group.number)
      group.load(shard, in_shard / texts_per_block);
    IndexReader::DocumentText& text = group.texts[in_shard % texts_per_block];
    return {std::string(shard.docno(in_shard)), std::move(text.url), std::move(text.title)};
  }

 private:
  /// The documents that share a frame.
  struct Group {
    const IndexReader* shard = nullptr;
    docid_t number = 0;
    std::vector<IndexReader::DocumentText> texts;

    void load(const IndexReader& from, docid_t wanted) {
      shard = &from;
      number = wanted;
      texts.clear();
      const docid_t begin = wanted * texts_per_block;
      const auto end =
          static_cast<docid_t>(std::min<std::uint64_t>(from.num_documents(), std::uint64_t{begin} + texts_per_block));
      from.for_each_text(begin, end, [&](docid_t, std::string_view url, std::string_view title) {
        texts.push_back({std::string(url), std::string(title)});
      });
    }
  };

  const IndexShards* shards_ = nullptr;
  const IndexReader* index_ = nullptr;  ///< instead of shards
  tbb::enumerable_thread_specific<Group> groups_;
};

}  // namespace quern
