#include "quern/lab/environment.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <regex>
#include <system_error>
#include <thread>

#include "quern/core/simd_level.hpp"
#include "quern/core/types.hpp"

namespace quern {
namespace {

std::string system_name() {
  utsname name{};
  if (::uname(&name) != 0) return {};
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::uint64_t memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages < 0 || page_bytes < 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

std::string compiler_name() {
#if defined(__clang__)
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::gmtime_r(&now, &parts) == nullptr) return {};
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!line.empty()) line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

}  // namespace

nlohmann::ordered_json describe_environment() {
  std::array<double, 3> loads{};
  if (::getloadavg(loads.data(), 3) != 3) loads = {-1, -1, -1};
  return {{"processor", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", memory_bytes()},
          {"system", system_name()},
          {"compiler", compiler_name()},
          {"build", QUERN_BUILD},
          {"simd_level", name_of(simd_level())},
          {"version", version()},
          {"date", today()},
          {"command_line", command_line()},
          {"load_average", loads}};
}

nlohmann::ordered_json to_json(const FigureRow& row) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Figure& figure : row)
    if (!figure.key.empty()) json[nlohmann::ordered_json::json_pointer("/" + figure.key)] = figure.value;
  return json;
}

void append(FigureRow& row, const FigureRow& more) { row.insert(row.end(), more.begin(), more.end()); }

namespace {

std::optional<std::uint64_t> read_number(const std::filesystem::path& file) {
  std::uint64_t number = 0;
  if (std::ifstream in(file); in >> number) return number;
  return std::nullopt;
}

}  // namespace

CpuEnergyMeter::CpuEnergyMeter(const std::filesystem::path& counters) {
  // Subzones of a package have a second number; the package's counter includes them.
  static const std::regex package("intel-rapl:[0-9]+");
  std::error_code missing;
  for (const auto& zone : std::filesystem::directory_iterator(counters, missing)) {
    if (!std::regex_match(zone.path().filename().string(), package)) continue;
    packages_.push_back({zone.path() / "energy_uj", read_number(zone.path() / "max_energy_range_uj").value_or(0), {}});
  }
}

void CpuEnergyMeter::start() {
  for (Package& package : packages_) package.at_start_uj = read_number(package.counter);
}

std::optional<double> CpuEnergyMeter::joules() const {
  if (packages_.empty()) return std::nullopt;
  std::uint64_t sum_uj = 0;
  for (const Package& package : packages_) {
    const auto now_uj = read_number(package.counter);
    if (!now_uj || !package.at_start_uj) return std::nullopt;
    sum_uj += *now_uj - *package.at_start_uj + (*now_uj < *package.at_start_uj ? package.range_uj : 0);
  }
  return 1e-6 * static_cast<double>(sum_uj);
}

}  // namespace quern

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern {

bool reset_peak_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << '5' << std::flush);
}

std::optional<std::uint64_t> peak_memory_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string key; file >> key;) {
    std::uint64_t kilobytes = 0;
    if (key == "VmHWM:" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace quern
