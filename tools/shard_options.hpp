#pragma once
#include <memory>
#include <optional>
#include <string>

#include "quern/index/shards/shard_source.hpp"

#include "command.hpp"

/// --shard, --statistics and --scales of quern build.
namespace quern::tools {

struct ShardArguments {
  std::string shard, statistics, scales;
};
/// "3/16"; nothing if the text is another.
std::optional<ShardChoice> shard_choice(const std::string& text);
/// --shard alone.
CLI::Option* add_shard_option(CLI::App& command, std::string& shard, const std::string& help);
/// Needs the option --order.
void add_shard_options(CLI::App& command, ShardArguments& arguments);
/// What the shard takes from files of the whole, whose checksums are compared; null without --shard. The order is that
/// of --order.
std::unique_ptr<ShardSource> shard_source(const ShardArguments& arguments, const std::string& order,
                                          const Resources& resources);

}  // namespace quern::tools
