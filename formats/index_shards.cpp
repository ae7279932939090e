#include "quern/formats/index_shards.hpp"

#include "quern/io/checksum.hpp"

namespace quern {
namespace {

/// The part of a manifest that all shards share.
std::string shared_part(IndexManifest manifest) {
  manifest.shard->number = 1;
  manifest.docid_base = manifest.documents = manifest.empty_documents = manifest.terms = manifest.postings =
      manifest.tokens = manifest.blocks = manifest.short_lists = manifest.short_list_bytes = manifest.list_bound_bytes =
          0;
  manifest.coded = {};
  manifest.has_forward = manifest.has_texts = false;
  manifest.collection_hash.clear();
  return manifest.to_json();
}

/// Throws unless the i-th shard follows those before it.
void check_shard(const std::vector<IndexReader>& shards, std::size_t i, std::uint64_t documents_before) {
  const IndexReader &index = shards[i], &first = shards.front();
  const ShardManifest &shard = *index.manifest().shard, &first_shard = *first.manifest().shard;
  if (shard.order_hash != first_shard.order_hash || shard.statistics_hash != first_shard.statistics_hash ||
      shard.count != first_shard.count)
    throw InvalidArgument(
        "{}: comes from a different order or uses different statistics than {}; cut all shards from one order",
        index.name(), first.name());
  if (i > 0 && shard.number == shards[i - 1].manifest().shard->number)
    throw InvalidArgument("{}: is shard {} of {}, as is {}; name each shard once", index.name(), shard.number,
                          shard.count, shards[i - 1].name());
  if (shard.number != i + 1) throw InvalidArgument("shard {} of {} is missing; name all shards", i + 1, shard.count);
  if (shared_part(index.manifest()) != shared_part(first.manifest()))
    throw InvalidArgument("{}: was built with different options than {}; compare them with quern inspect", index.name(),
                          first.name());
  if (index.manifest().docid_base != documents_before)
    throw InvalidArgument("{}: begins with docID {}, but the previous shards end with {}", index.name(),
                          index.manifest().docid_base, documents_before);
}

}  // namespace

IndexShards::IndexShards(std::vector<IndexReader> indexes) : shards_(std::move(indexes)) {
  if (shards_.empty()) throw InvalidArgument("no index given");
  const std::optional<ShardManifest>& only = shards_.front().manifest().shard;
  // A single shard must be the whole index.
  if (shards_.size() == 1 && (!only || only->count != 1)) return;
  for (const IndexReader& index : shards_)
    if (!index.manifest().shard)
      throw InvalidArgument(index.name() + ": is not a shard; build shards with " + option_name<"build shard">);
  std::sort(shards_.begin(), shards_.end(), [](const IndexReader& a, const IndexReader& b) {
    return a.manifest().shard->number < b.manifest().shard->number;
  });
  std::uint64_t documents = 0;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    check_shard(shards_, i, documents);
    documents += shards_[i].manifest().documents;
  }
  const IndexReader& first = shards_.front();
  if (shards_.size() != first.manifest().shard->count)
    throw InvalidArgument("shard {} of {} is missing; name all shards", shards_.size() + 1,
                          first.manifest().shard->count);
  if (documents != first.manifest().statistics.documents)
    throw InvalidArgument("{}: the shards have {} documents, but their statistics have {}", first.name(), documents,
                          first.manifest().statistics.documents);
}

IndexShards IndexShards::open(const std::vector<std::string>& paths) {
  std::vector<IndexReader> indexes;
  for (const std::string& path : paths) indexes.push_back(IndexReader::open(path));
  return IndexShards(std::move(indexes));
}

docid_t IndexShards::num_documents() const { return first_docid(shards_.size() - 1) + shards_.back().num_documents(); }

std::uint64_t IndexShards::num_postings() const {
  std::uint64_t sum = 0;
  for (const IndexReader& shard : shards_) sum += shard.manifest().postings;
  return sum;
}

IndexShards::Place IndexShards::place(docid_t docid) const {
  if (shards_.size() == 1) return {shards_.front(), docid};
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), docid,
                       [](docid_t wanted, const IndexReader& shard) { return wanted < shard.manifest().docid_base; });
  const IndexReader& shard = *(after - 1);
  return {shard, static_cast<docid_t>(docid - shard.manifest().docid_base),
          static_cast<std::size_t>(after - 1 - shards_.begin())};
}

std::string IndexShards::name() const {
  return (shards_.size() == 1 ? "" : "the index of shard ") + shards_.front().name();
}

std::string IndexShards::collection_hash() const {
  const IndexManifest& first = shards_.front().manifest();
  if (!first.shard || first.shard->count != shards_.size()) return first.collection_hash;
  std::uint64_t hash = hash_of_text(first.shard->input_hash).value_or(0);
  for (const IndexReader& shard : shards_) hash += hash_of_text(shard.manifest().collection_hash).value_or(0);
  return hash_text(hash);
}

std::string_view IndexShards::docno(docid_t docid) const {
  const Place found = place(docid);
  return found.index.docno(found.docid);
}

std::optional<docid_t> IndexShards::find_docno(std::string_view docno) const {
  for (std::size_t i = 0; i < shards_.size(); ++i)
    if (const auto docid = shards_[i].find_docno(docno)) return first_docid(i) + *docid;
  return std::nullopt;
}

StatisticsBeside StatisticsBeside::open(const IndexReader& shard) {
  const std::string path =
      existing_member_path(shard.name(), statistics_member, "PageRank scores need it; build the shard again");
  StatisticsReader statistics = StatisticsReader::open(path);
  if (hash_text(statistics.container().content_hash()) !=
      shard.manifest().shard.value_or(ShardManifest()).statistics_hash)
    throw InvalidArgument("{}: is not the file that {} was built with; build the shard again", path, shard.name());
  return StatisticsBeside(std::move(statistics));
}

StatisticsBeside::StatisticsBeside(StatisticsReader statistics)
    : statistics_(std::move(statistics)),
      terms_(statistics_.container(), "terms", statistics_.manifest().collection.terms) {}

std::optional<TermCounts> StatisticsBeside::find(std::string_view term) const {
  const auto block = terms_.block_of(term);
  if (!block) return std::nullopt;
  const auto payload = terms_.block(*block).find(term, [](ByteView) {});
  if (!payload) return std::nullopt;
  return TermCounts::parse(*payload, terms_.what());
}

}  // namespace quern
