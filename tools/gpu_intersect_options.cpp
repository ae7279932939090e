#include "gpu_intersect_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quern::tools {
namespace {

using gpu::ResultTransfer;

constexpr std::array<std::pair<const char*, ResultTransfer>, 3> transfers = {
    {{"packed", ResultTransfer::packed}, {"whole", ResultTransfer::whole}, {"single", ResultTransfer::single}}};

}  // namespace

std::vector<std::string> gpu_method_names() {
  std::vector<std::string> names;
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) names.emplace_back(method.name);
  return names;
}

std::string gpu_method_help() {
  std::string help;
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
    help += fmt::format("\n  {}: {}", method.name, method.description);
  return help;
}

std::vector<std::string> transfer_names() {
  std::vector<std::string> names;
  for (const auto& transfer : transfers) names.emplace_back(transfer.first);
  return names;
}

std::string transfer_name(ResultTransfer transfer) {
  const auto* found =
      std::find_if(transfers.begin(), transfers.end(), [&](const auto& named) { return named.second == transfer; });
  return found->first;
}

ResultTransfer transfer_named(const std::string& name) {
  for (const auto& transfer : transfers)
    if (transfer.first == name) return transfer.second;
  throw InvalidArgument("results are not transferred '" + name + "'; there are " + joined(transfer_names()));
}

Json gpu_statistics_json(const GpuIntersectionStatistics& statistics) {
  const auto batches = static_cast<double>(std::max<std::uint64_t>(statistics.batches, 1));
  return {{"batches", statistics.batches},
          {"on_cpu", statistics.on_cpu},
          {"unpacked_lists", statistics.unpacked_lists},
          {"unpacked_postings", statistics.unpacked_postings},
          {"unpacked_bytes", statistics.unpacked_bytes},
          {"mean_response_us", statistics.response_us / batches},
          {"longest_response_us", statistics.longest_response_us},
          {"prepare_us", statistics.prepare_us},
          {"upload_us", statistics.device.upload_us},
          {"unpack_us", statistics.device.unpack_us},
          {"directory_us", statistics.device.directory_us},
          {"intersect_us", statistics.device.intersect_us},
          {"pack_us", statistics.device.pack_us},
          {"download_us", statistics.device.download_us}};
}

}  // namespace quern::tools
