#include "quern/lab/measuring.hpp"

#include <fstream>
#include <regex>
#include <system_error>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern {
namespace {

std::optional<std::uint64_t> read_number(const std::filesystem::path& file) {
  std::uint64_t number = 0;
  if (std::ifstream in(file); in >> number) return number;
  return std::nullopt;
}

}  // namespace

ProcessClock::Reading ProcessClock::now() {
  Reading reading;
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  reading.all = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed))
    if (const auto ns = read_number(thread.path() / "schedstat"))
      reading.by_thread[thread.path().filename()] = 1e-9 * static_cast<double>(*ns);
  return reading;
}

ProcessTime ProcessClock::elapsed() const {
  const Reading end = now();
  ProcessTime time{end.all - start_.all, 0};
  for (const auto& [thread, seconds] : end.by_thread)
    if (const auto begun = start_.by_thread.find(thread); begun != start_.by_thread.end())
      time.busiest = std::max(time.busiest, seconds - begun->second);
  return time;
}

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
