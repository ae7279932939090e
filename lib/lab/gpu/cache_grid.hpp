#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"

/// The configurations of a GPU's cache that `quern bench gpu-cache` measures.
namespace quern {

/// The name of a memory that holds all lists.
inline constexpr std::string_view whole_memory = "all";
/// No plan: all memory for lists is a dynamic cache.
inline constexpr std::string_view no_policy = "none";

/// One configuration of the engine.
struct CacheSetting {
  std::string memory{whole_memory};  ///< for lists, in the command line's syntax
  std::string policy{no_policy};     ///< of the plan
  double max_admission = 1;          ///< lambda of the plan
  std::size_t k = 10;
  std::size_t batch = 256;  ///< queries per batch; 1: queries run one at a time

  bool operator==(const CacheSetting&) const = default;
};

/// Parts of the grid. All but the first use one memory.
enum class GridPart { memories, lambdas, ks, single };

inline constexpr NamedValue<GridPart> grid_parts[] = {
    {"memories", GridPart::memories, "all memories, policies and batch sizes"},
    {"lambdas", GridPart::lambdas, "all lambdas and policies at the base memory and batch"},
    {"ks", GridPart::ks, "all k and policies at the base memory and batch"},
    {"single", GridPart::single, "all policies at the base memory, queries one at a time"},
};

struct CacheGrid {
  std::vector<GridPart> parts = {GridPart::memories, GridPart::lambdas, GridPart::ks, GridPart::single};
  std::vector<std::string> memories = {"5%", "10%", "20%", "40%", "70%", "100%"};
  /// Memories of the runs that calibrate the costs of windows and the overlap of copies with work for all others; they
  /// must differ from `memories`.
  std::vector<std::string> calibrating = {"7%", "30%"};
  std::vector<std::string> policies;  ///< may include no_policy
  std::vector<std::size_t> batches = {16, 256, 4096, 16384};
  std::vector<double> max_admissions = {0.75, 0.85, 0.95, 1};
  std::vector<std::size_t> ks = {1, 5, 10, 15};
  /// Values that parts of the grid do not vary. Its policy is ignored.
  CacheSetting base{"20%", std::string(no_policy), 1, 10, 256};
  std::vector<double> limits_ms = {5, 50, 100, 150, 0};  ///< response times to compute splits for; 0: no limit
};

/// Throws InvalidArgument if a number is out of range, a policy is unknown, a list is empty, or a memory is both
/// measured and used for calibration.
void check_cache_grid(const CacheGrid& grid);

/// All distinct configurations of the grid's parts, grouped by memory and plan. Without a plan, lambda is always 1.
std::vector<CacheSetting> settings_of(const CacheGrid& grid);
/// The configurations with all lists in memory that models need: each k and batch of settings_of(), and the base's k
/// with all batch sizes.
std::vector<CacheSetting> resident_settings(const CacheGrid& grid);
/// The calibrating configurations: all batch sizes but 1, without a plan.
std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid);
/// The configurations for the curves dq(S_c): all memories and policies, all batch sizes and 1, at the base's k and
/// lambda.
std::vector<CacheSetting> curve_settings(const CacheGrid& grid);

}  // namespace quern
