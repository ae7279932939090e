#include "quern/lab/gpu/cache_grid.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/plan/cache_policy.hpp"

namespace quern {
namespace {

void check_setting(std::size_t k, std::size_t batch) {
  check_range("k", k, 1, gpu::max_results);
  check_range("queries per batch", batch, 1, gpu::max_batch_queries);
}

/// Collects distinct settings.
class SettingList {
 public:
  void add(CacheSetting setting) {
    if (setting.policy == no_policy) setting.max_admission = 1;
    if (std::find(settings_.begin(), settings_.end(), setting) == settings_.end())
      settings_.push_back(std::move(setting));
  }
  std::vector<CacheSetting> take() { return std::move(settings_); }

 private:
  std::vector<CacheSetting> settings_;
};

void add_part(const CacheGrid& grid, GridPart part, const std::string& policy, SettingList& list) {
  CacheSetting setting = grid.base;
  setting.policy = policy;
  switch (part) {
    case GridPart::memories:
      for (const std::string& memory : grid.memories)
        for (const std::size_t batch : grid.batches)
          list.add({memory, policy, setting.max_admission, setting.k, batch});
      break;
    case GridPart::lambdas:
      for (const double lambda : grid.max_admissions)
        list.add({setting.memory, policy, lambda, setting.k, setting.batch});
      break;
    case GridPart::ks:
      for (const std::size_t k : grid.ks) list.add({setting.memory, policy, setting.max_admission, k, setting.batch});
      break;
    case GridPart::single:
      list.add({setting.memory, policy, setting.max_admission, setting.k, 1});
      break;
  }
}

/// Orders settings by memory and plan, in the grid's order of values.
bool measured_before(const CacheSetting& a, const CacheSetting& b, const CacheGrid& grid) {
  const auto place = [](const auto& all, const auto& value) {
    return std::find(all.begin(), all.end(), value) - all.begin();
  };
  const auto key = [&](const CacheSetting& setting) {
    return std::tuple(place(grid.memories, setting.memory), setting.memory, place(grid.policies, setting.policy),
                      setting.max_admission, setting.k);
  };
  return key(a) < key(b);
}

}  // namespace

void check_cache_grid(const CacheGrid& grid) {
  if (grid.parts.empty() || grid.memories.empty() || grid.policies.empty() || grid.batches.empty() ||
      grid.max_admissions.empty() || grid.ks.empty())
    throw InvalidArgument("a grid needs at least one part, memory, policy, batch size, lambda and k");
  for (const std::string& policy : grid.policies)
    if (policy != no_policy) cache_policy_named(policy);
  for (const std::size_t batch : grid.batches) check_setting(grid.base.k, batch);
  for (const std::size_t k : grid.ks) check_setting(k, grid.base.batch);
  for (const double lambda : grid.max_admissions) check_range("lambda", lambda, 1e-9, 1);
  for (const double limit : grid.limits_ms) check_range("a limit in ms", limit, 0, 1e9);
  for (const CacheSetting& setting : settings_of(grid))
    if (std::find(grid.calibrating.begin(), grid.calibrating.end(), setting.memory) != grid.calibrating.end())
      throw InvalidArgument("memory " + setting.memory +
                            " is among those to be measured, so it can't be used to calibrate; choose others with " +
                            option_name<"calibrate">);
}

std::vector<CacheSetting> settings_of(const CacheGrid& grid) {
  SettingList list;
  for (const GridPart part : grid.parts)
    for (const std::string& policy : grid.policies) add_part(grid, part, policy, list);
  std::vector<CacheSetting> settings = list.take();
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const CacheSetting& a, const CacheSetting& b) { return measured_before(a, b, grid); });
  return settings;
}

std::vector<CacheSetting> resident_settings(const CacheGrid& grid) {
  SettingList list;
  for (const std::size_t batch : grid.batches) list.add({.k = grid.base.k, .batch = batch});
  for (const CacheSetting& setting : settings_of(grid)) list.add({.k = setting.k, .batch = setting.batch});
  return list.take();
}

std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid) {
  SettingList list;
  for (const std::string& memory : grid.calibrating)
    for (const std::size_t batch : grid.batches)
      if (batch > 1) list.add({.memory = memory, .k = grid.base.k, .batch = batch});
  return list.take();
}

std::vector<CacheSetting> curve_settings(const CacheGrid& grid) {
  SettingList list;
  std::vector<std::size_t> batches = grid.batches;
  batches.push_back(1);
  for (const std::string& policy : grid.policies)
    for (const std::size_t batch : batches)
      for (const std::string& memory : grid.memories)
        list.add({memory, policy, grid.base.max_admission, grid.base.k, batch});
  return list.take();
}

}  // namespace quern
