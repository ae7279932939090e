#include "quern/schedule/measured_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Rows of one device and size of batches, by the query's number.
using Rows = std::map<std::uint64_t, const QueryTime*>;

/// The rows that were chosen.
struct ChosenRows {
  Rows cpu, alone;
  std::map<std::uint64_t, Rows> batches;  ///< on a GPU, by size, larger than 1

  ChosenRows(std::span<const QueryTimeTable> times, const StreamChoice& choice) {
    for (const QueryTimeTable& file : times) {
      for (const QueryTime& row : file.rows) {
        if (row.algorithm != choice.algorithm || row.k != choice.k) continue;
        if (row.device == Processor::cpu) {
          cpu[row.query] = &row;
        } else if (row.strategy == choice.strategy) {
          (row.batch == 1 ? alone : batches[row.batch])[row.query] = &row;
        }
      }
    }
  }

  /// What queries add to a GPU's batch.
  const Rows& joined() const { return batches.empty() ? alone : batches.rbegin()->second; }
};

double mean_us(const Rows& rows) {
  double sum = 0;
  for (const auto& [query, row] : rows) sum += row->us;
  return sum / static_cast<double>(rows.size());
}

/// What batches of each size take besides what their queries add, where several sizes above 1 were measured.
BatchOverhead overhead_of(const ChosenRows& rows) {
  if (rows.batches.size() < 2) return {};
  std::map<std::size_t, double> us;
  const double added_us = mean_us(rows.joined());
  for (const auto& [size, of_size] : rows.batches)
    us[size] = static_cast<double>(size) * std::max(0.0, mean_us(of_size) - added_us);
  return BatchOverhead(us);
}

double batch_us(const ChosenRows& rows, const BatchOverhead& overhead) {
  if (rows.alone.empty()) return 0;
  if (rows.batches.empty()) {
    const auto shorter = [](const auto& a, const auto& b) { return a.second->us < b.second->us; };
    return std::min_element(rows.alone.begin(), rows.alone.end(), shorter)->second->us;
  }
  // Of queries that were measured both ways: often not all are asked one at a time.
  double sum = 0;
  std::uint64_t both = 0;
  for (const auto& [query, row] : rows.alone) {
    const auto joined = rows.joined().find(query);
    if (joined == rows.joined().end()) continue;
    sum += std::max(0.0, row->us - joined->second->us);
    ++both;
  }
  return both == 0 ? 0 : std::max(0.0, sum / static_cast<double>(both) - overhead.us(1));
}

void check_same_queries(const Rows& cpu, const Rows& gpu) {
  if (cpu.empty() || gpu.empty()) return;
  const bool same = std::equal(cpu.begin(), cpu.end(), gpu.begin(), gpu.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same) throw InvalidArgument("the times on the CPU and on the GPU are not of the same queries of a log");
}

}  // namespace

MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs) {
  check_same_origin(times);
  const ChosenRows rows(times, choice);
  const Rows &cpu = rows.cpu, &gpu = rows.joined();
  if (cpu.empty() && gpu.empty())
    throw InvalidArgument(
        fmt::format("there are no times of {} with k = {}; quern bench query --times and quern bench gpu --times "
                    "measure them",
                    choice.algorithm, choice.k));
  check_same_queries(cpu, gpu);
  MeasuredStream stream;
  stream.has_cpu = !cpu.empty();
  stream.has_gpu = !gpu.empty();
  stream.gpu_overhead = overhead_of(rows);
  stream.gpu_batch_us = batch_us(rows, stream.gpu_overhead);
  for (const auto& entry : cpu.empty() ? gpu : cpu) {
    const std::uint64_t number = entry.first;
    const QueryFeatures& features = entry.second->features;
    SimulatedQuery& query = stream.queries.emplace_back();
    query.waiting.blocks = features.blocks;
    if (stream.has_cpu) query.waiting.expected_cpu_us = query.cpu_us = cpu.at(number)->us;
    if (stream.has_gpu) {
      const QueryTime& on_gpu = *gpu.at(number);
      query.gpu_us = rows.batches.empty() ? on_gpu.us - stream.gpu_batch_us : on_gpu.us;
      query.waiting.expected_gpu_us = query.gpu_us;
      query.waiting.missing_bytes = on_gpu.features.missing_bytes;
    }
    if (costs == nullptr) continue;
    const auto expected = [&](Processor device, std::uint64_t batch) {
      return costs->expected_us(
          {device, choice.algorithm, device == Processor::gpu ? choice.strategy : std::string_view(), choice.k, batch},
          features);
    };
    if (stream.has_cpu) query.waiting.expected_cpu_us = expected(Processor::cpu, 1);
    if (stream.has_gpu) query.waiting.expected_gpu_us = expected(Processor::gpu, gpu.begin()->second->batch);
  }
  return stream;
}

}  // namespace quern
