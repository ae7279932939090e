#include <string>

#include "quern/core/error.hpp"

#include "catch.hpp"

namespace quern {
namespace {

std::string spelled(std::string_view command, std::string_view name) {
  return "<" + std::string(command) + "|" + std::string(name) + ">";
}

}  // namespace

TEST_CASE("each front end spells the options in messages its own way", "[option_name]") {
  const std::string message = std::string("raise ") + option_name<"gpu-memory"> + ", or use " + option_name<"k1">;
  CHECK(spell_options(message, spelled) == "raise <|gpu-memory>, or use <|k1>");
  CHECK(spell_options(option_name<"index forward">, spelled) == "<index|forward>");
  CHECK(spell_options(option_name<"bench query times">, spelled) == "<bench query|times>");
  CHECK(spell_options("no option", spelled) == "no option");
  CHECK(spell_options("half \x02memory", spelled) == "half \x02memory");
  CHECK(find_option(message)->name == "gpu-memory");
  CHECK_FALSE(find_option("end \x03 before begin \x02"));
}

}  // namespace quern
