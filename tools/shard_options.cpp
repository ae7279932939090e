#include "shard_options.hpp"

#include <fmt/format.h>

#include "quern/index/shards/shard_cuts.hpp"

namespace quern::tools {

std::optional<ShardChoice> shard_choice(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  ShardChoice choice;
  if (!read_number(text.substr(0, slash), choice.number) || !read_number(text.substr(slash + 1), choice.count) ||
      choice.number == 0 || choice.number > choice.count || choice.count > max_shards)
    return std::nullopt;
  return choice;
}

CLI::Option* add_shard_option(CLI::App& command, std::string& shard, const std::string& help) {
  return command.add_option("--shard", shard, help)
      ->type_name("I/N")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return shard_choice(text) ? std::string()
                                      : fmt::format("'{}' is not a shard such as 3/16: the third of sixteen", text);
          },
          ""));
}

void add_shard_options(CLI::App& command, ShardArguments& arguments) {
  CLI::Option* shard = add_shard_option(
      command, arguments.shard, "Build the I-th of N shards of the order, which scores as an index of all does");
  CLI::Option* statistics = command
                                .add_option("--statistics", arguments.statistics,
                                            "With --shard: statistics of all collections, of quern statistics")
                                ->type_name("FILE");
  shard->needs(statistics)->needs("--order");
  statistics->needs(shard);
  command
      .add_option("--scales", arguments.scales,
                  "With --shard and --quantize: the scale of all collections, of quern statistics --scales")
      ->type_name("FILE")
      ->needs(shard);
}

std::unique_ptr<ShardSource> shard_source(const ShardArguments& arguments, const std::string& order,
                                          const Resources& resources) {
  if (arguments.shard.empty()) return nullptr;
  StatisticsReader statistics = StatisticsReader::open(arguments.statistics);
  statistics.container().verify(resources);
  std::optional<Scales> scales;
  if (!arguments.scales.empty()) scales = read_scales(ContainerReader::open(arguments.scales, FileKind::scales));
  return std::make_unique<ShardSource>(*shard_choice(arguments.shard), OrderReader::open(order), std::move(statistics),
                                       std::move(scales));
}

}  // namespace quern::tools
