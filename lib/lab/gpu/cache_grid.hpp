#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"

/// Which configurations of a GPU's cache `quern bench gpu-cache` measures.
namespace quern {

/// A memory in which all lists are.
inline constexpr std::string_view whole_memory = "all";
/// No plan: all memory for lists is a dynamic cache.
inline constexpr std::string_view no_policy = "none";

/// One configuration of the engine.
struct CacheSetting {
  std::string memory{whole_memory};  ///< for lists, as the command line has it
  std::string policy{no_policy};     ///< of the plan
  double max_admission = 1;          ///< lambda of the plan
  std::size_t k = 10;
  std::size_t batch = 256;  ///< queries; 1: queries are asked one at a time

  bool operator==(const CacheSetting&) const = default;
};

/// Parts of the grid. All but the first have one memory.
enum class GridPart { memories, lambdas, ks, single };

inline constexpr NamedValue<GridPart> grid_parts[] = {
    {"memories", GridPart::memories, "all memories, policies and sizes of batches"},
    {"lambdas", GridPart::lambdas, "all lambdas and policies at the base memory and batch"},
    {"ks", GridPart::ks, "all k and policies there"},
    {"single", GridPart::single, "all policies there, queries one at a time"},
};

struct CacheGrid {
  std::vector<GridPart> parts = {GridPart::memories, GridPart::lambdas, GridPart::ks, GridPart::single};
  std::vector<std::string> memories = {"5%", "10%", "20%", "40%", "70%", "100%"};
  /// From runs with these, what windows of documents cost and how far copies overlap with work is known for all others.
  /// None of those that are measured.
  std::vector<std::string> calibrating = {"7%", "30%"};
  std::vector<std::string> policies;  ///< with no_policy, if it is to be measured
  std::vector<std::size_t> batches = {16, 256, 4096, 16384};
  std::vector<double> max_admissions = {0.75, 0.85, 0.95, 1};
  std::vector<std::size_t> ks = {1, 5, 10, 15};
  /// What parts do not vary; lambda 1, and k of the part of memories. Its policy is not used.
  CacheSetting base{"20%", std::string(no_policy), 1, 10, 256};
  std::vector<double> limits_ms = {5, 50, 100, 150, 0};  ///< response times for which splits are computed; 0: no limit
};

/// Throws InvalidArgument if a number is out of its range, a policy is unknown, something is empty, or a memory
/// calibrates what is predicted for it.
void check_cache_grid(const CacheGrid& grid);

/// All configurations that the grid's parts measure, each once, those with the same memory and plan together. Without a
/// plan, there is no lambda but 1.
std::vector<CacheSetting> settings_of(const CacheGrid& grid);
/// The configurations in which all lists are in the memory that models need: each k and batch of settings_of(), and the
/// base's k with all sizes of batches.
std::vector<CacheSetting> resident_settings(const CacheGrid& grid);
/// The configurations from which that is known: all sizes of batches but 1, without a plan.
std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid);
/// Configurations that the curves dq(S_c) need: all memories and policies, in batches of all sizes and of 1, at the
/// base's k and lambda.
std::vector<CacheSetting> curve_settings(const CacheGrid& grid);

}  // namespace quern
