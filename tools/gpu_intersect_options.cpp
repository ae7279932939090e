#include "gpu_intersect_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quern::tools {
namespace {

using gpu::ResultTransfer;

constexpr NamedValue<ResultTransfer> transfers[] = {
    {"packed", ResultTransfer::packed}, {"whole", ResultTransfer::whole}, {"single", ResultTransfer::single}};

}  // namespace

std::vector<std::string> gpu_method_names() { return names_of(all_gpu_intersection_methods()); }

std::string gpu_method_help() {
  std::string help;
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
    help += fmt::format("\n  {}: {}", method.name, method.description);
  return help;
}

std::vector<std::string> transfer_names() { return names_of(transfers); }

std::string transfer_name(ResultTransfer transfer) { return std::string(name_of_value(transfers, transfer)); }

ResultTransfer transfer_named(const std::string& name) {
  return find_named(transfers, name, "transfer of results").value;
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
