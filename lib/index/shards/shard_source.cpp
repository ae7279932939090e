#include "quern/index/shards/shard_source.hpp"

namespace quern {

ShardSource::ShardSource(const ShardChoice& choice, const OrderReader& order, StatisticsReader statistics,
                         std::optional<Scales> scales)
    : statistics_(std::move(statistics)), scales_(std::move(scales)) {
  const OrderManifest& manifest = order.manifest();
  if (manifest.shards.size() != choice.count)
    throw InvalidArgument("{}: is cut into {} shards, not {}; create one with: {} {}", order.name(),
                          manifest.shards.size(), choice.count, option_name<"order shards">, choice.count);
  whole_.docids = manifest.shard(choice.number - 1);
  if (whole_.docids.size() == 0)
    throw InvalidArgument("{}: shard {} of {} has no documents; cut the order into fewer", order.name(), choice.number,
                          choice.count);
  whole_.manifest = {choice.number,
                     choice.count,
                     hash_text(order.container().content_hash()),
                     hash_text(statistics_.container().content_hash()),
                     {}};
  whole_.statistics = statistics_.manifest().statistics();
  if (scales_) whole_.quantize_top = scales_->top;
  whole_.counts = [this](std::string_view term) { return counts_of(term); };
}

void ShardSource::check(const CollectionReader& collection, const BuildOptions& options) const {
  statistics_.check_splits(collection.splits(), collection.name());
  if (options.quantize_bits == 0) return;
  if (!scales_)
    throw InvalidArgument(
        "quantized impacts of a shard need the scale of the whole index: create it with {}, and pass it with {}",
        option_name<"statistics scales">, option_name<"scales">);
  if (scales_->statistics_hash != whole_.manifest.statistics_hash)
    throw InvalidArgument("the scales were computed with different statistics; create them again");
  if (scales_->bm25 != options.bm25)
    throw InvalidArgument("the scales are for k1 {} and b {}; build with these, or create the scales again",
                          scales_->bm25.k1, scales_->bm25.b);
  if (scales_->splits != statistics_.splits())
    throw InvalidArgument("the scales cover {} splits, but the statistics {}; merge the scales of all splits",
                          scales_->splits.size(), statistics_.splits().size());
}

const CollectionContext& ShardSource::whole() {
  scan_.emplace(statistics_.terms());
  has_entry_ = scan_->next(entry_);
  return whole_;
}

TermCounts ShardSource::counts_of(std::string_view term) {
  while (has_entry_ && entry_.term < term) has_entry_ = scan_->next(entry_);
  if (!has_entry_ || entry_.term != term)
    throw InvalidArgument("{}: lacks the term '{}' of the shard", statistics_.name(), term);
  return TermCounts::parse(entry_.payload, statistics_.name());
}

}  // namespace quern
