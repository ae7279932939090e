#include "quern/core/figures.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include "quern/core/simd_level.hpp"

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

}  // namespace quern
