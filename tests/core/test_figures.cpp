#include "quern/core/figures.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("the environment is described", "[core]") {
  const auto here = describe_environment();
  CHECK(here["cores"] > 0);
  CHECK(here["memory_bytes"] > 1 << 20);
  CHECK(here["date"].get<std::string>().size() == 10);
  for (const char* text : {"system", "compiler", "build", "simd_level", "version"})
    CHECK_FALSE(here[text].get<std::string>().empty());
  CHECK(here["command_line"].get<std::string>().find("tests") != std::string::npos);
}

}  // namespace quern
