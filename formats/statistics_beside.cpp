#include "quern/formats/statistics_beside.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "quern/core/own_errors.hpp"
#include "quern/io/atomic_output.hpp"

namespace quern {

std::string statistics_path(const std::string& index_path) {
  return with_own_errors([&] { return folder_of(quern_file(index_path)) + "/" + statistics_member; });
}

StatisticsBeside StatisticsBeside::open(const IndexReader& shard) {
  return with_own_errors([&] {
    const std::string path = statistics_path(shard.name());
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
      throw InvalidArgument(
          fmt::format("{}: there is no file {} beside it, which scores with PageRank need; build the shard again",
                      shard.name(), statistics_member));
    StatisticsReader statistics = StatisticsReader::open(path);
    if (hash_text(statistics.container().content_hash()) !=
        shard.manifest().shard.value_or(ShardManifest()).statistics_hash)
      throw InvalidArgument(
          fmt::format("{}: is not the file that {} was built with; build the shard again", path, shard.name()));
    return StatisticsBeside(std::move(statistics));
  });
}

StatisticsBeside::StatisticsBeside(StatisticsReader statistics) try
    : statistics_(std::move(statistics)),
      terms_(statistics_.container(), "terms", statistics_.manifest().collection.terms) {
} catch (...) {
  throw_own_error();
}

std::optional<TermCounts> StatisticsBeside::find(std::string_view term) const {
  return with_own_errors([&]() -> std::optional<TermCounts> {
    const auto block = terms_.block_of(term);
    if (!block) return std::nullopt;
    const auto payload = terms_.block(*block).find(term, [](ByteView) {});
    if (!payload) return std::nullopt;
    return TermCounts::parse(*payload, terms_.what());
  });
}

}  // namespace quern
