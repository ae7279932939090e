#include "command.hpp"

#include <tbb/global_control.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "quern/io/atomic_output.hpp"

namespace quern::tools {
namespace {

/// The value of an option, or if it is not given that of its environment variable, checked; one that is empty counts as
/// not set.
std::string setting(const std::string& given, const char* variable, const CLI::Validator& validator) {
  const char* const value = std::getenv(variable);
  if (!given.empty() || value == nullptr || *value == '\0') return given;
  if (const std::string wrong = validator(std::string(value)); !wrong.empty())
    throw usage_error("{}: {}", variable, wrong);
  return value;
}

}  // namespace

void add_index_argument(CLI::App& command, std::string& path) {
  add_input_option(command, "INDEX", path, "", "The index, as written by quern index, build, import or synth")
      ->required();
}

CLI::Option* add_shards_argument(CLI::App& command, std::vector<std::string>& paths) {
  return add_input_option(command, "INDEX", paths, "", "The index; or all shards of one, in any order");
}

void add_collections_argument(CLI::App& command, std::vector<std::string>& paths) {
  add_input_option(command, "COLLECTION", paths, "",
                   "The collection, as written by quern parse; or the collections of all splits of a corpus, in order")
      ->required();
}

CLI::Option* add_output_option(CLI::App& command, const std::string& option, std::string& value,
                               const std::string& type, const std::string& help, std::vector<const char*> endings) {
  return name_file(add_option(command, option, value, type, help), {.is_written = true, .endings = std::move(endings)});
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  add_number_option(command, "-j,--threads", options.threads, "N", "Number of threads (default: all cores)", 1u,
                    max_threads);
  command.add_flag("--quiet", options.quiet, "Print no progress or notes");
}

void add_resource_options(CLI::App& command, CommonOptions& options) {
  options.bounds_memory = true;
  add_option(command, "--memory", options.memory, "SIZE",
             "Memory budget, such as 512M or 4G (default: 1G, or a quarter of the machine's memory if that is less)")
      ->check(size_validator());
  add_input_option(command, "--tmp", options.tmp, "FOLDER",
                   "Folder for temporary files (default: the output's folder, else the system's)");
}

void add_work_options(CLI::App& command, CommonOptions& options) {
  add_resource_options(command, options);
  add_common_options(command, options);
}

void add_output_options(CLI::App& command, CommonOptions& options, std::string& output, const std::string& what,
                        std::vector<const char*> endings) {
  add_output_option(command, "-o,--output", output, "FILE", "The " + what + " to write", std::move(endings))
      ->required();
  add_work_options(command, options);
  command.add_flag("--force", options.force, "Overwrite existing output");
  command.add_flag("--json", options.json, "Print figures as JSON");
}

void add_answer_options(CLI::App& command, CommonOptions& options, std::string& output, std::string& stats) {
  add_output_option(command, "-o,--output", output, "FILE", "Write to a file instead of standard output");
  command.add_flag("--force", options.force, "Overwrite existing output");
  add_output_option(command, "--stats", stats, "FILE",
                    "Write times and counts to a file as JSON, replacing any existing file");
  add_work_options(command, options);
}

Resources make_resources(const CommonOptions& options, const std::string& output) {
  Resources resources = default_resources();
  const std::string threads = setting(options.threads > 0 ? std::to_string(options.threads) : "", "QUERN_THREADS",
                                      range_validator(1u, max_threads));
  if (!threads.empty()) read_number(threads, resources.threads);
  constexpr unsigned threads_besides = 4;  // that read ahead
  check_threads(resources.threads + threads_besides);
  const std::string memory = setting(options.memory, "QUERN_MEMORY", size_validator());
  if (!memory.empty()) resources.memory_bytes = parse_size(memory);
  constexpr std::uint64_t min_memory = 32 << 20;
  if (resources.memory_bytes < min_memory)
    throw usage_error("{} must be at least 32M, not {}", options.memory.empty() ? "QUERN_MEMORY" : "--memory", memory);
  resources.tmp_folder = setting(options.tmp, "QUERN_TMP", CLI::Validator());
  if (resources.tmp_folder.empty())
    resources.tmp_folder = output.empty() ? std::filesystem::temp_directory_path().string() : folder_of(output);
  static std::unique_ptr<Progress> progress;
  progress = make_console_progress(
      options.quiet, options.bounds_memory ? resources.memory_bytes : std::numeric_limits<std::uint64_t>::max());
  resources.progress = progress.get();
  static std::unique_ptr<tbb::global_control> limit;
  limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, resources.threads);
  return resources;
}

api::Work make_work(const CommonOptions& options, const Resources& resources) {
  api::Work work;
  work.threads = resources.threads;
  work.memory_bytes = resources.memory_bytes;
  work.tmp_folder = resources.tmp_folder;
  Progress& progress = *resources.progress;
  work.progress = [&progress, shown = std::uint64_t{0}](const api::ProgressStep& step) mutable {
    if (step.done == 0)
      progress.start(step.stage, step.total, step.unit);
    else
      progress.add(step.done - shown);
    shown = step.done;
    if (step.ended) progress.finish();
  };
  work.warn = [&progress](const std::string& message) { progress.warn(message); };
  work.remark = remarks(options);
  return work;
}

namespace {

/// "  cache=NAME: Lists that stay: lfu, lru (default: lfu)"
std::string setting_help(const OptionText& setting) {
  std::string text = "\n  " + setting.names.back().substr(2);
  if (!setting.value.empty()) text += "=" + setting.value_text();
  std::string what = setting.description.substr(0, setting.description.find('\n'));
  if (what.ends_with(':')) what.pop_back();
  text += ": " + what;
  if (!setting.choices.empty()) text += ": " + joined(setting.choices);
  return setting.default_value.empty() ? text : text + fmt::format(" (default: {})", setting.default_value);
}

/// Parses an option's value into `settings`. Throws CLI::ValidationError that names the option.
void take_settings(CLI::App& settings, const std::string& option, const CLI::results_t& values) {
  std::vector<std::string> names;
  for (const CLI::Option* setting : settings.get_options()) names.push_back(setting->get_name().substr(2));
  std::vector<std::string> words;
  for (const std::string& value : values) {
    const std::string key = value.substr(0, value.find('='));
    if (const std::string wrong = name_validator(names)(std::string(key)); !wrong.empty())
      throw CLI::ValidationError(option, wrong);
    words.insert(words.begin(), "--" + value);  // CLI11 takes them from the end
  }
  try {
    settings.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const std::string text = option_message(error);
    throw CLI::ValidationError(option, text.substr(text.starts_with("--") ? 2 : 0));
  }
}

/// The settings of options that add_settings_option() added.
std::map<const CLI::Option*, std::shared_ptr<CLI::App>>& all_settings() {
  static std::map<const CLI::Option*, std::shared_ptr<CLI::App>> settings;
  return settings;
}

}  // namespace

void add_settings_option(CLI::App& command, const std::string& option, const std::string& help,
                         const std::function<void(CLI::App& settings)>& add) {
  const auto settings = std::make_shared<CLI::App>();
  settings->set_help_flag();
  add(*settings);
  std::string text = help + ":";
  for (const CLI::Option* setting : settings->get_options()) text += setting_help(describe(*setting));
  const auto take = [settings, option](const CLI::results_t& values) {
    take_settings(*settings, option, values);
    return true;
  };
  CLI::Option* const added = add_option(command, option, take, "KEY=VALUE", text)
                                 ->type_size(1)
                                 ->expected(1, CLI::detail::expected_max_vector_size)
                                 ->delimiter(',');
  all_settings().emplace(added, settings);
}

CLI::Validator size_validator(std::uint64_t min, std::uint64_t max) {
  return checked_by([min, max](const std::string& text) -> std::string {
    try {
      const std::uint64_t size = parse_size(text);
      if (size >= min && size <= max) return {};
      return fmt::format("'{}' is not a size from {} to {}", text, size_text(min), size_text(max));
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  });
}

CLI::Validator name_validator(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](const std::string& text) -> std::string {
        for (const std::string& name : names)
          if (name == text) return {};
        return fmt::format("'{}' is not one of {}{}", text, joined(names), nearest_name(names, text));
      },
      fmt::format("{{{}}}", fmt::join(names, ",")));
}

CLI::Validator block_size_validator() { return name_validator({"64", "128", "256", "512"}); }

CLI::Option* add_block_size_option(CLI::App& command, unsigned& block_size, const std::string& help) {
  return add_option(command, "--block-size", block_size, "N", help)
      ->check(block_size_validator())
      ->capture_default_str();
}

void require_one_of(CLI::App& command, CLI::Option* a, CLI::Option* b) {
  a->excludes(b);
  command.parse_complete_callback([a, b] {
    if (a->empty() && b->empty()) throw CLI::RequiredError(a->get_name() + " or " + b->get_name());
  });
}

void exclude_others(CLI::App& command, const std::string& name, std::vector<std::string> kept) {
  kept.insert(kept.end(),
              {name, "--help", "--help-all", "--json", "--quiet", "--threads", "--memory", "--tmp", "INDEX"});
  CLI::Option* const option = command.get_option(name);
  for (CLI::Option* const other : command.get_options({}))
    if (std::ranges::none_of(kept, [&](const std::string& one) { return other->check_name(one); }))
      option->excludes(other);
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

namespace {

[[noreturn]] void fail_to_print() {
  // As other programs end whose reader has seen enough.
  if (errno == EPIPE) end_in_silence(SIGPIPE);
  throw_errno("can't write", "standard output");
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_print();
}

void print_json(const Json& json) { print(json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"); }

void flush_output() {
  if (std::fflush(stdout) != 0) fail_to_print();
}

namespace {

const CLI::App* named_program = nullptr;

bool has_option(const CLI::App& command, const std::string& option) {
  return command.get_option_no_throw(option) != nullptr;
}

/// What serves a command that lacks an option which a message names.
constexpr std::pair<const char*, const char*> instead_of[] = {{"--device", "quern query --device"},
                                                              {"--memory", "QUERN_MEMORY"},
                                                              {"--threads", "QUERN_THREADS"},
                                                              {"--tmp", "QUERN_TMP"}};

/// An option that the message of a command names: its own, a setting of one of its own, or what serves instead.
std::string own_option_text(const CLI::App& program, std::string_view name) {
  std::string option = fmt::format("--{}", name);
  const CLI::App& command = named_command(program);
  if (has_option(command, option)) return option;
  for (const CLI::Option* const own : command.get_options())
    if (const auto settings = all_settings().find(own); settings != all_settings().end())
      if (has_option(*settings->second, option)) return fmt::format("{} {}", own->get_name(), name);
  for (const auto& [lacked, instead] : instead_of)
    if (option == lacked) return instead;
  return option;
}

std::string option_text(std::string_view command, std::string_view name) {
  return command.empty() ? own_option_text(*named_program, name) : fmt::format("quern {} --{}", command, name);
}

}  // namespace

void spell_options_of(const CLI::App& program) {
  named_program = &program;
  api::set_option_spelling(option_text);
}

void print_message(std::string_view text) {
  const std::string message = api::spelled(text);
  std::fwrite(message.data(), 1, message.size(), stderr);
  std::fflush(stderr);
}

void say(const CommonOptions& options, const std::string& line) {
  if (!options.quiet) print_message(line + "\n");
}

std::function<void(const std::string&)> remarks(const CommonOptions& options) {
  return [&options](const std::string& remark) { say(options, "quern: " + remark); };
}

}  // namespace quern::tools
