#pragma once
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "cli/run_quern.hpp"

namespace quern::testing {

/// Checks a benchmark's description of the machine and the build; `command` is part of its command line.
inline void check_environment(const nlohmann::json& environment, const char* command = "bench") {
  for (const char* key : {"processor", "system", "compiler", "build", "simd_level", "version", "date", "command_line"})
    CHECK(environment[key].is_string());
  CHECK(contains(environment["command_line"], command));
  CHECK(environment["cores"] > 0);
  CHECK(environment["load_average"].size() == 3);
}

/// The sample, indexed with two codecs.
struct SampleIndexes {
  TemporaryFolder folder;
  std::string newpfd = folder.path("newpfd"), rice = folder.path("rice");

  SampleIndexes() {
    for (const auto& [path, codec] : {std::pair(newpfd, "newpfd"), std::pair(rice, "rice")})
      REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", path, "--codec", codec}).exit_status == 0);
  }
};

}  // namespace quern::testing
