#pragma once
#include <string>
#include <string_view>

#include "quern/core/named.hpp"
#include "quern/formats/tables/tab_fields.hpp"

namespace quern {

/// What answers queries.
enum class Processor { cpu, gpu };

constexpr Processor other_than(Processor processor) {
  return processor == Processor::cpu ? Processor::gpu : Processor::cpu;
}

inline constexpr NamedValue<Processor> processor_names[] = {
    {"cpu", Processor::cpu, "a thread of the CPU"},
    {"gpu", Processor::gpu, "a GPU"},
};

/// Reads the column of a processor. Throws CorruptFile if it names none.
inline Processor read_processor(TabFields& row) {
  const std::string_view name = row.text();
  if (!has_named(processor_names, name)) row.fail("is of a device that is neither cpu nor gpu");
  return find_named(processor_names, name, "device").value;
}

/// The column of a GPU's strategy, of which the CPU has none.
inline std::string_view strategy_text(const std::string& strategy) {
  return strategy.empty() ? std::string_view("-") : std::string_view(strategy);
}
inline std::string read_strategy(TabFields& row) {
  const std::string_view name = row.text();
  return name == "-" ? std::string() : std::string(name);
}

}  // namespace quern
