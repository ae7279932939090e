#include "config_file.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "quern/core/error.hpp"

namespace quern::tools {
namespace {

namespace po = boost::program_options;

constexpr const char* config_option = "config";

/// The command's options by their long names, as Boost takes them; --config itself can't stand in a file.
po::options_description describe(const CLI::App& command) {
  po::options_description description;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      if (name != config_option && name != "help") description.add_options()(name.c_str(), po::value<std::string>());
  }
  return description;
}

/// The number, from 1, of the last line that begins with `start` and goes on with anything but a letter of a name;
/// 0 where there is none.
std::size_t line_of(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  std::string line;
  std::size_t found = 0;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == line.npos || line.compare(from, start.size(), start) != 0) continue;
    const std::size_t end = from + start.size();
    if (end == line.size() || std::string_view(" \t=#\r").find(line[end]) != std::string_view::npos) found = number;
  }
  return found;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    throw IoError(path + ": can't be read; is the name of the configuration file right?");
  return text.str();
}

po::parsed_options parse(const std::string& path, const std::string& text, const po::options_description& description) {
  std::istringstream in(text);
  try {
    return po::parse_config_file(in, description);
  } catch (const po::unknown_option& error) {
    throw InvalidArgument(fmt::format("{}: line {}: '{}' is no setting; see quern index --help for the option names",
                                      path, line_of(text, error.get_option_name()), error.get_option_name()));
  } catch (const po::invalid_config_file_syntax& error) {
    throw InvalidArgument(fmt::format("{}: line {}: '{}' is no setting; write lines such as: codec = rice", path,
                                      line_of(text, error.tokens()), error.tokens()));
  } catch (const po::error& error) {
    throw InvalidArgument(fmt::format("{}: {}; write lines such as: codec = rice", path, error.what()));
  }
}

}  // namespace

void add_config_option(CLI::App& command) {
  command.add_option(std::string("--") + config_option, "Read options from a file of lines `key = value`")
      ->type_name("FILE");
}

void apply_config_file(CLI::App& command) {
  const CLI::Option* config = command.get_option(std::string("--") + config_option);
  if (config->count() == 0) return;
  const std::string path = config->as<std::string>();
  const std::string text = read_text(path);
  const po::options_description description = describe(command);
  std::set<std::string> seen;
  for (const po::option& setting : parse(path, text, description).options) {
    if (!seen.insert(setting.string_key).second) {
      throw InvalidArgument(
          fmt::format("{}: line {}: '{}' is set twice", path, line_of(text, setting.string_key), setting.string_key));
    }
    CLI::Option* option = command.get_option("--" + setting.string_key);
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : setting.value) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw InvalidArgument(fmt::format("{}: line {}: {}", path, line_of(text, setting.string_key), error.what()));
    }
  }
}

}  // namespace quern::tools
