#include <filesystem>
#include <string>

#include "quern/lab/measuring.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

namespace quern {
namespace {

using testing::TemporaryFolder;

/// Sets one of a zone's files.
void set(const TemporaryFolder& folder, const std::string& zone, const std::string& file, std::uint64_t number) {
  folder.write(zone + "/" + file, std::to_string(number) + "\n");
}

}  // namespace

TEST_CASE("the energy of all packages is summed, even if a counter wraps around", "[measure]") {
  const TemporaryFolder folder;
  for (const char* zone : {"intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "intel-rapl"}) {
    set(folder, zone, "max_energy_range_uj", 10'000'000);
    set(folder, zone, "energy_uj", 9'000'000);
  }
  CpuEnergyMeter meter(folder.path(""));
  CHECK(meter.joules() == std::nullopt);  // not started
  meter.start();
  CHECK(meter.joules() == 0.0);
  set(folder, "intel-rapl:0", "energy_uj", 9'500'000);
  set(folder, "intel-rapl:1", "energy_uj", 1'000'000);
  set(folder, "intel-rapl:0:0", "energy_uj", 9'900'000);  // a subzone of the first
  CHECK(*meter.joules() == Approx(0.5 + 2));
  std::filesystem::remove(folder.path("intel-rapl:1/energy_uj"));
  CHECK(meter.joules() == std::nullopt);
}

TEST_CASE("without counters no energy is reported", "[measure]") {
  const TemporaryFolder folder;
  CpuEnergyMeter nothing(folder.path("missing"));
  nothing.start();
  CHECK(nothing.joules() == std::nullopt);
}

}  // namespace quern
