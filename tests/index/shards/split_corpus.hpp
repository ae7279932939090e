#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/index/forward/recode_forward.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/index/shards/statistics.hpp"
#include "quern/io/checksum.hpp"

#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"

/// A corpus parsed as a whole and in splits, and its index as a whole and in shards.
namespace quern::testing {

class SplitCorpus {
 public:
  SplitCorpus(const std::vector<ModelDocument>& documents, std::size_t splits)
      : SplitCorpus(as_jsonl(documents), texts_of(documents, splits, as_jsonl)) {}
  /// From texts of corpora.
  SplitCorpus(const std::string& text, const std::vector<std::string>& splits, const ChunkLimits& limits = {})
      : pipeline(limits), whole(pipeline.parse(text)), files_(parse(splits)), joined(files_) {
    joined.join_lexicons(pipeline.resources.tmp_folder, 1 << 20);
  }

  /// The text of each split.
  template <class Document, class Text>
  static std::vector<std::string> texts_of(const std::vector<Document>& documents, std::size_t splits, Text&& text) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < splits; ++i) {
      const auto from = documents.begin() + static_cast<std::ptrdiff_t>(documents.size() * i / splits);
      const auto to = documents.begin() + static_cast<std::ptrdiff_t>(documents.size() * (i + 1) / splits);
      texts.push_back(text({from, to}));
    }
    return texts;
  }

  /// Statistics of some splits, merged in order.
  StatisticsReader statistics(const std::vector<std::size_t>& splits) const {
    std::vector<StatisticsReader> each;
    for (const std::size_t split : splits) each.push_back(statistics_of(files_[split]));
    return merged(each);
  }
  StatisticsReader merged(const std::vector<StatisticsReader>& inputs) const {
    const StageFile file = pipeline.new_file();
    merge_statistics(inputs, pipeline.resources, *file);
    return StatisticsReader(ContainerReader(file, FileKind::statistics));
  }
  StatisticsReader statistics() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < files_.size(); ++i) all.push_back(i);
    return statistics(all);
  }
  std::size_t num_splits() const { return files_.size(); }
  const std::shared_ptr<const File>& split(std::size_t i) const { return files_[i]; }

  /// The order as a file, cut into shards.
  OrderReader order_file(const DocumentOrder& order, const OrderOptions& options, std::size_t shards) const {
    const StageFile file = pipeline.new_file();
    write_order(*file, order, options, joined,
                cut_into_shards(count_postings(joined, pipeline.resources), order.documents, shards));
    return OrderReader(ContainerReader(file, FileKind::order));
  }

  /// The maximum term score, merged from separate splits.
  Scales scales(const StatisticsReader& statistics, const Bm25Parameters& bm25) const {
    std::vector<Scales> each;
    std::vector<std::string> names;
    for (const auto& file : files_) {
      each.push_back(find_scales(CollectionReader(file), statistics, bm25, pipeline.resources));
      names.push_back("split " + std::to_string(names.size()));
    }
    return merge_scales(each, names);
  }

  /// A shard of the index, built from all splits, with its forward file if `forward` is given.
  IndexReader shard(const ShardChoice& choice, const OrderReader& order_file, const OrderOptions& order_options,
                    const BuildOptions& options, StageFile* forward = nullptr) const {
    StatisticsReader statistics = this->statistics();
    std::optional<Scales> scales;
    if (options.quantize_bits > 0 && !options.weighting) scales = this->scales(statistics, options.bm25);
    ShardSource source(choice, order_file, std::move(statistics), std::move(scales));
    const DocumentOrder order = order_file.load();
    std::vector<bool> is_in_shard(order.documents.size());
    for (docid_t docid = source.docids().first; docid < source.docids().end; ++docid)
      is_in_shard[order.documents[docid]] = true;
    CollectionReader collection(files_);
    source.check(collection, options);
    collection.join_lexicons(pipeline.resources.tmp_folder, 1 << 20,
                             [&](docid_t document) { return is_in_shard[document]; });
    const StageFile file = pipeline.new_file();
    build_index(collection, order, order_options, options, pipeline.resources, *file, &source.whole());
    IndexReader index = Pipeline::open_index(file);
    if (forward == nullptr) return index;
    const StatisticsBeside all_statistics(this->statistics());
    const ForwardShard forward_shard{source.docids(), index, all_statistics};
    const std::string hash = hash_text(index.container().content_hash());
    *forward = pipeline.new_file();
    build_forward(collection, {order.documents, hash, &forward_shard}, pipeline.resources, **forward);
    return index;
  }

  Pipeline pipeline;
  CollectionReader whole;

 private:
  std::vector<std::shared_ptr<const File>> parse(const std::vector<std::string>& splits) {
    std::vector<std::shared_ptr<const File>> files;
    for (const std::string& split : splits) files.push_back(pipeline.parse(split));
    return files;
  }
  StatisticsReader statistics_of(const std::shared_ptr<const File>& split) const {
    const StageFile file = pipeline.new_file();
    write_statistics(CollectionReader(split), pipeline.resources, *file);
    return StatisticsReader(ContainerReader(file, FileKind::statistics));
  }

  std::vector<std::shared_ptr<const File>> files_;

 public:
  CollectionReader joined;  ///< all splits as one collection
};

/// All shards of an index with their forward files.
class ForwardShards {
 public:
  void add(IndexReader index, const StageFile& forward, const Resources& resources) {
    indexes_.push_back(std::move(index));
    forwards.push_back(ForwardReader(ContainerReader(forward, FileKind::forward)));
    forwards.back().container().verify(resources);
    forwards.back().check_belongs_to(indexes_.back());
    forwards.back().verify_contents(indexes_.back(), resources);
  }
  /// Call after the last shard.
  void end() { indexes.emplace(std::move(indexes_)); }

  std::optional<IndexShards> indexes;
  std::vector<ForwardReader> forwards;

 private:
  std::vector<IndexReader> indexes_;
};

/// Cuts shards out of an index.
inline ForwardShards cut_shards(const Pipeline& pipeline, const IndexReader& whole, const ForwardReader& forward,
                                std::uint32_t count) {
  ForwardShards shards;
  for (std::uint32_t number = 1; number <= count; ++number) {
    const StageFile file = pipeline.new_file(), forward_file = pipeline.new_file();
    cut_index(whole, {number, count}, nullptr, pipeline.resources, *file);
    IndexReader index = Pipeline::open_index(file);
    const auto first = static_cast<docid_t>(index.manifest().docid_base);
    ForwardRecoder recoder(index, pipeline.resources, *forward_file);
    recoder.add(whole, forward, {first, first + index.num_documents()});
    recoder.finish();
    shards.add(std::move(index), forward_file, pipeline.resources);
  }
  shards.end();
  return shards;
}

}  // namespace quern::testing
