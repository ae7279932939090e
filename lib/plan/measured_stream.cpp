#include "quern/plan/measured_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"

namespace quern {
namespace {

/// Rows of one device and batch size, by query number.
using Rows = std::map<std::uint64_t, const QueryTime*>;

/// The rows that match a StreamChoice.
struct ChosenRows {
  Rows cpu, alone;
  std::map<std::uint64_t, Rows> batches;  ///< on a GPU, by batch size above 1
  std::map<std::uint64_t, double> rates;  ///< by batch size

  ChosenRows(std::span<const QueryTimeTable> times, const StreamChoice& choice) {
    for (const QueryTimeTable& file : times) {
      for (const BatchRate& rate : file.rates)
        if (rate.algorithm == choice.algorithm && rate.strategy == choice.strategy && rate.k == choice.k)
          rates[rate.batch] = rate.per_second;
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

  /// Rows of the largest batches, or of single queries if there are none.
  const Rows& joined() const { return batches.empty() ? alone : batches.rbegin()->second; }
};

double mean_us(const Rows& rows) {
  double sum = 0;
  for (const auto& [query, row] : rows) sum += row->us;
  return sum / static_cast<double>(rows.size());
}

/// The mean extra time of a single query beyond what it adds to a batch, over queries measured both ways; often not all
/// are measured alone. `added_share`: the part of a query's share of the largest batches that it adds.
std::optional<double> besides_alone_us(const ChosenRows& rows, double added_share) {
  double sum = 0;
  std::uint64_t both = 0;
  for (const auto& [query, row] : rows.alone) {
    const auto joined = rows.joined().find(query);
    if (joined == rows.joined().end()) continue;
    sum += std::max(0.0, row->us - added_share * joined->second->us);
    ++both;
  }
  return both == 0 ? std::nullopt : std::optional(sum / static_cast<double>(both));
}

/// How long a batch delays the next one; at most its own time.
double busy_us(const ChosenRows& rows, std::size_t size, double alone_us) {
  const auto rate = rows.rates.find(size);
  return rate == rows.rates.end() ? alone_us : std::min(alone_us, 1e6 * static_cast<double>(size) / rate->second);
}

/// The components of a batch's time.
struct BatchModel {
  double added_share = 1;  ///< part of a query's time in the largest batches that keeps the GPU busy
  BatchOverhead overhead, latency;
};

BatchModel batch_model(const ChosenRows& rows) {
  if (rows.batches.empty()) return {};
  const auto size_and_us = [](const auto& batches) {
    return std::pair(static_cast<double>(batches.first), static_cast<double>(batches.first) * mean_us(batches.second));
  };
  const auto& largest = *rows.batches.rbegin();
  const auto [largest_size, largest_us] = size_and_us(largest);
  const double added_us = busy_us(rows, largest.first, largest_us) / largest_size;
  std::map<std::size_t, double> overhead, latency;
  for (const auto& batches : rows.batches) {
    const auto [size, us] = size_and_us(batches);
    const double busy = busy_us(rows, batches.first, us);
    overhead[batches.first] = std::max(0.0, busy - size * added_us);
    latency[batches.first] = us - busy;
  }
  // A single query keeps the GPU busy like the smallest batches; the rest is latency.
  const double added_share = added_us / (largest_us / largest_size);
  if (const auto besides_us = besides_alone_us(rows, added_share)) {
    const double of_smallest_us = overhead.begin()->second;
    overhead[1] = std::min(*besides_us, of_smallest_us);
    latency[1] = *besides_us - overhead[1];
  }
  return {added_share, BatchOverhead(overhead), BatchOverhead(latency)};
}

double min_us(const Rows& rows) {
  const auto shorter = [](const auto& a, const auto& b) { return a.second->us < b.second->us; };
  return std::min_element(rows.begin(), rows.end(), shorter)->second->us;
}

void check_same_queries(const Rows& cpu, const Rows& gpu) {
  if (cpu.empty() || gpu.empty()) return;
  const bool same = std::equal(cpu.begin(), cpu.end(), gpu.begin(), gpu.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same) throw InvalidArgument("the times on the CPU and on the GPU are not of the same queries");
}

}  // namespace

MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs) {
  check_same_origin(times);
  const ChosenRows rows(times, choice);
  const Rows &cpu = rows.cpu, &gpu = rows.joined();
  if (cpu.empty() && gpu.empty())
    throw InvalidArgument(fmt::format("there are no times of {} with k = {}; {} and {} measure them", choice.algorithm,
                                      choice.k, option_name<"bench query times">, option_name<"bench gpu times">));
  check_same_queries(cpu, gpu);
  MeasuredStream stream;
  stream.has_cpu = !cpu.empty();
  stream.has_gpu = !gpu.empty();
  BatchModel model = batch_model(rows);
  const double alone_us = rows.batches.empty() && stream.has_gpu ? min_us(rows.alone) : 0;
  if (alone_us > 0) model.latency = BatchOverhead({{1, alone_us}});
  stream.gpu_overhead = model.overhead;
  stream.gpu_latency = model.latency;
  for (const auto& entry : cpu.empty() ? gpu : cpu) {
    const std::uint64_t number = entry.first;
    const QueryFeatures& features = entry.second->features;
    SimulatedQuery& query = stream.queries.emplace_back();
    query.waiting.blocks = features.blocks;
    if (stream.has_cpu) query.waiting.expected_cpu_us = query.cpu_us = cpu.at(number)->us;
    if (stream.has_gpu) {
      const QueryTime& on_gpu = *gpu.at(number);
      query.gpu_us = model.added_share * (on_gpu.us - alone_us);
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
