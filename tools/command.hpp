#pragma once
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <limits>
#include <system_error>
#include <type_traits>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/work.hpp"
#include "quern/core/named.hpp"

#include "help/help.hpp"

/// Code that commands share. Each command has a file of its own, such as commands/query.cpp and bench/gpu.cpp, which
/// defines its options, calls the library and prints; no algorithm lives here.
namespace quern::tools {

using Json = nlohmann::ordered_json;

/// Throws a usage error if a command's output is also one of its inputs (standard input among them), two of its outputs
/// are the same, or one is the file that standard output goes to: the same file, by whatever name, also the file in an
/// index's folder; and if the name of one is longer than file systems take. From then on, the process refuses to open
/// an output's old file: inputs also have their names from other inputs, such as a description of a model.
void refuse_overwritten_inputs(const CLI::App& command);

/// The options that every command has, and those of long work.
struct CommonOptions {
  unsigned threads = 0;  ///< 0: all cores
  bool quiet = false;
  bool json = false;
  bool force = false;
  std::string memory;          ///< empty: the default
  bool bounds_memory = false;  ///< --memory is an option; benchmarks, which lack it, measure with all pages in memory
  std::string tmp;             ///< empty: the output's folder
};

/// The argument INDEX, required.
void add_index_argument(CLI::App& command, std::string& path);
/// INDEX...: an index, or all shards of one.
CLI::Option* add_shards_argument(CLI::App& command, std::vector<std::string>& paths);
/// COLLECTION...: those of the splits of a corpus, or one.
void add_collections_argument(CLI::App& command, std::vector<std::string>& paths);
/// -j/--threads and --quiet.
void add_common_options(CLI::App& command, CommonOptions& options);
/// --memory, --tmp.
void add_resource_options(CLI::App& command, CommonOptions& options);
/// The options of both.
void add_work_options(CLI::App& command, CommonOptions& options);
/// -o/--output, required; --force, --json and those of add_work_options(): for commands that write a file. `endings` as
/// in FileNaming.
void add_output_options(CLI::App& command, CommonOptions& options, std::string& output, const std::string& what,
                        std::vector<const char*> endings = {});
/// -o/--output, --force, --stats, none of them required, and those of add_work_options(): for commands that print
/// answers to queries.
void add_answer_options(CLI::App& command, CommonOptions& options, std::string& output, std::string& stats);
/// Options as the library takes them: those missing on the command line come from QUERN_THREADS, QUERN_MEMORY and
/// QUERN_TMP, then from the defaults. Temporary files go to the folder of `output` unless another is set. Limits the
/// threads of the whole process.
Resources make_resources(const CommonOptions& options, const std::string& output = ".");

/// The same for functions of lib/api, whose progress, warnings and remarks it shows. `options` must outlive it.
api::Work make_work(const CommonOptions& options, const Resources& resources);

/// An option with rarely needed settings, KEY=VALUE,.... `add` adds each of them to the App that it
/// gets, as options of a command; a setting's key is the long name of its option.
void add_settings_option(CLI::App& command, const std::string& option, const std::string& help,
                         const std::function<void(CLI::App& settings)>& add);

/// Refuses values for which `check` returns an error.
template <class Check>
CLI::Validator checked_by(Check check) {
  return {std::move(check), ""};
}

/// Refuses values that `read` refuses with InvalidArgument.
template <class Read>
CLI::Validator refusing_as(Read read) {
  return checked_by([read](const std::string& text) -> std::string {
    try {
      read(text);
      return {};
    } catch (const InvalidArgument& wrong) {
      return wrong.what();
    }
  });
}

/// A size such as 64M, from `min` to `max` bytes: a wrong one is a usage error.
CLI::Validator size_validator(std::uint64_t min = 0, std::uint64_t max = std::numeric_limits<std::uint64_t>::max());
/// One of a registry's names, which help and completions list: another one is a usage error.
CLI::Validator name_validator(const std::vector<std::string>& names);

/// `head`, then a line for each entry of a registry that has a description.
template <class Registry>
std::string with_choices(std::string head, const Registry& registry) {
  for (const auto& entry : registry) {
    const std::string_view description = description_of_entry(entry);
    if (!description.empty()) head.append("\n  ").append(name_of_entry(entry)).append(": ").append(description);
  }
  return head;
}

/// An option whose value help calls `type`.
template <class Value>
CLI::Option* add_option(CLI::App& command, const std::string& option, Value& value, const std::string& type,
                        const std::string& help) {
  return command.add_option(option, value, help)->type_name(type);
}

/// An option whose value names a file or folder that the command reads, or with `endings` those of FileNaming.
template <class Value>
CLI::Option* add_input_option(CLI::App& command, const std::string& option, Value& value, const std::string& type,
                              const std::string& help, std::vector<const char*> endings = {}) {
  return name_file(add_option(command, option, value, type, help), {.endings = std::move(endings)});
}

/// An option whose value names a file or folder that the command writes.
CLI::Option* add_output_option(CLI::App& command, const std::string& option, std::string& value,
                               const std::string& type, const std::string& help, std::vector<const char*> endings = {});

/// An option that takes the name of a registry's entry, or several names, separated by commas, if `value` is a vector.
/// Help shows the default, unless that is nothing or all names.
template <class Registry, class Value>
CLI::Option* add_name_option(CLI::App& command, const std::string& option, Value& value, const Registry& registry,
                             const std::string& help) {
  const std::vector<std::string> names = names_of(registry);
  CLI::Option* const added = add_option(command, option, value, "NAME", help)->check(name_validator(names));
  bool has_default = value != Value{};
  if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    added->delimiter(',');
    has_default = has_default && value != names;
  }
  return has_default ? added->capture_default_str() : added;
}

/// An option that takes the name of a value in `table`, an array of NamedValue that outlives the command. Help shows
/// the default, unless `value` is an empty std::optional.
template <class Table, class Value>
CLI::Option* add_value_option(CLI::App& command, const std::string& option, Value& value, const Table& table,
                              const std::string& help) {
  const auto take = [&value, &table](const CLI::results_t& names) {
    value = find_named(table, names.back(), "value").value;
    return true;
  };
  return add_option(command, option, take, "NAME", help)
      ->check(name_validator(names_of(table)))
      ->default_str(std::string(name_of_value(table, value)));
}

/// An option that takes several values of such a table, separated by commas.
template <class Table, class Value>
CLI::Option* add_value_option(CLI::App& command, const std::string& option, std::vector<Value>& values,
                              const Table& table, const std::string& help) {
  const auto take = [&values, &table](const CLI::results_t& names) {
    values.clear();
    for (const std::string& name : names) values.push_back(find_named(table, name, "value").value);
    return true;
  };
  return add_option(command, option, take, "NAME", help)
      ->check(name_validator(names_of(table)))
      ->type_size(1)
      ->expected(CLI::detail::expected_max_vector_size)
      ->delimiter(',');
}

/// on and off.
inline constexpr NamedValue<bool> switches[] = {{"on", true}, {"off", false}};

/// Whether `text` is a decimal number that fits in `value`, which it becomes. CLI11's own conversion wraps around what
/// is negative or too large, and takes 010 for 8.
template <class Number>
bool read_number(const std::string& text, Number& value) {
  if (std::is_integral_v<Number> && text.size() > 1 && text.front() == '0') return false;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// A number from `min` to `max`: another one is a usage error.
template <class Number>
CLI::Validator range_validator(Number min, Number max) {
  return checked_by([min, max](const std::string& text) -> std::string {
    Number value{};
    if (read_number(text, value) && value >= min && value <= max) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, min, max);
  });
}
/// The numbers of an option: of a number, an optional number or a vector of numbers.
template <class Value>
struct NumbersOf {
  using Type = Value;
};
template <class Value>
requires requires { typename Value::value_type; }
struct NumbersOf<Value> {
  using Type = typename Value::value_type;
};
/// An option with a number from `min` to `max`, or with several of them, separated by commas, if `value` is a vector.
/// Help shows the default if it is one of these numbers.
template <class Value, class Number = typename NumbersOf<Value>::Type>
CLI::Option* add_number_option(CLI::App& command, const std::string& option, Value& value, const std::string& type,
                               const std::string& help,
                               std::type_identity_t<Number> min = std::numeric_limits<Number>::lowest(),
                               std::type_identity_t<Number> max = std::numeric_limits<Number>::max()) {
  CLI::Option* const added = add_option(command, option, value, type, help)->check(range_validator<Number>(min, max));
  if constexpr (std::is_same_v<Value, std::vector<Number>>) {
    added->delimiter(',');
    return value.empty() ? added : added->capture_default_str();
  } else if constexpr (std::is_same_v<Value, Number>) {
    return value < min || value > max ? added : added->capture_default_str();
  } else {
    return added;
  }
}

/// An option with a size such as 64M, in bytes, from `min` to `max`; `bytes` may be optional.
template <class Size>
CLI::Option* add_size_option(CLI::App& command, const std::string& option, Size& bytes, const std::string& help,
                             std::uint64_t min = 0, std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
  const auto take = [&bytes](const CLI::results_t& sizes) {
    bytes = parse_size(sizes.back());
    return true;
  };
  return command.add_option(option, take, help)->type_name("SIZE")->check(size_validator(min, max));
}

/// A block size that codecs take.
CLI::Validator block_size_validator();
/// --block-size: postings per block.
CLI::Option* add_block_size_option(CLI::App& command, unsigned& block_size, const std::string& help);
/// Has a command take exactly one of its options `a` and `b`; else it is a usage error.
void require_one_of(CLI::App& command, CLI::Option* a, CLI::Option* b);
/// Has the option of this name, whose work is another than the command's, exclude all options but `kept`, --json and
/// those that all work has.
void exclude_others(CLI::App& command, const std::string& name, std::vector<std::string> kept);
/// To be thrown for command lines that are wrong as a whole; takes what fmt::format() takes.
template <class... Values>
CLI::ValidationError usage_error(fmt::format_string<const Values&...> text, const Values&... values) {
  return CLI::ValidationError(fmt::format(text, values...));
}

/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

/// A command, and the arguments that its options set.
template <class Arguments>
struct AddedCommand {
  CLI::App& command;
  Arguments& arguments;
};

/// Adds a command that calls run() with its arguments, to a program or group.
template <class Arguments>
AddedCommand<Arguments> add_command(CLI::App& group, const std::string& name, const std::string& summary,
                                    void (*run)(const Arguments&)) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command = group.add_subcommand(name, summary);
  command->callback([arguments, run] { run(*arguments); });
  return {*command, *arguments};
}

/// Adds a command to the program, or to a group of commands; its callback does the work.
using AddCommand = void (*)(CLI::App& program);
/// The commands of `quern`.
void add_analyze_command(CLI::App& program);
void add_build_command(CLI::App& program);
void add_completion_command(CLI::App& program);
void add_cut_command(CLI::App& program);
void add_ranges_command(CLI::App& program);
void add_eval_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_explain_command(CLI::App& program);
void add_features_command(CLI::App& program);
void add_fuse_command(CLI::App& program);
void add_help_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_index_command(CLI::App& program);
void add_inspect_command(CLI::App& program);
void add_intersect_command(CLI::App& program);
void add_merge_command(CLI::App& program);
void add_merge_runs_command(CLI::App& program);
void add_order_command(CLI::App& program);
void add_parse_command(CLI::App& program);
void add_plan_command(CLI::App& program);
void add_query_command(CLI::App& program);
void add_rerank_command(CLI::App& program);
void add_statistics_command(CLI::App& program);
void add_synth_command(CLI::App& program);
void add_tune_command(CLI::App& program);
void add_verify_command(CLI::App& program);
/// The commands of `quern bench`.
void add_codec_bench(CLI::App& bench);
void add_gpu_bench(CLI::App& bench);
void add_gpu_cache_bench(CLI::App& bench);
void add_gpu_decode_bench(CLI::App& bench);
void add_gpu_intersect_bench(CLI::App& bench);
void add_intersect_bench(CLI::App& bench);
void add_rerank_bench(CLI::App& bench);
void add_lists_bench(CLI::App& bench);
void add_order_bench(CLI::App& bench);
void add_pagerank_bench(CLI::App& bench);
void add_query_bench(CLI::App& bench);
void add_stream_bench(CLI::App& bench);
void add_cost_bench(CLI::App& bench);
/// The commands of `quern simulate`.
void add_cache_simulation(CLI::App& simulate);
void add_schedule_simulation(CLI::App& simulate);
void add_throughput_simulation(CLI::App& simulate);

// Set-up of the process, before any command runs.

/// Opens descriptors 0 to 2 where the caller closed them, so that no file that a command opens takes their place. What
/// is read from or written to such an input or output fails; messages to a closed standard error are lost.
void occupy_standard_streams();

/// Has the signals that end a process, such as SIGINT and SIGTERM, remove unfinished outputs, say so on standard error,
/// and end it with 128 plus the signal's number; those that the caller ignores stay ignored. A mapped file that was cut
/// short is an error like others. To be called before any thread is started. Throws IoError if none can be.
void end_cleanly_on_signals();

/// Throws IoError, with a remedy, if the system does not let the process have as many threads besides those that it
/// has. Later it would be a thread of a library that fails, out of reach.
void check_threads(unsigned threads);

/// Removes unfinished outputs and ends the process as if `signal` had killed it.
[[noreturn]] void end_in_silence(int signal);

// Output.

/// Writes to stdout and throws IoError if that fails (a full disk, a closed pipe).
void print(std::string_view text);
/// Prints indented JSON; invalid UTF-8 is replaced, since names and ids may be any bytes.
void print_json(const Json& json);
/// Makes sure that all of stdout is written; throws IoError.
void flush_output();
/// From then on, has messages name options as the command line that `program` parses has them: --gpu-memory,
/// quern index --forward, --gpu-options list-buffer. It must outlive all messages.
void spell_options_of(const CLI::App& program);
/// Writes a message to stderr, with its options spelled as on the command line; what can't be written (a full disk, a
/// closed terminal) is lost, and changes nothing else.
void print_message(std::string_view text);
/// Shows progress on standard error: a bar that is redrawn on a terminal, else a line every few seconds. Quiet: only
/// warnings. As work progresses, keeps the resident pages of mapped files within `max_file_bytes`.
std::unique_ptr<Progress> make_console_progress(bool quiet, std::uint64_t max_file_bytes);
/// A line for people on stderr, unless --quiet.
void say(const CommonOptions& options, const std::string& line);
/// Formats it.
template <class Value, class... Values>
void say(const CommonOptions& options, fmt::format_string<Value, Values...> format, Value&& value, Values&&... values) {
  const std::string line = fmt::format(format, std::forward<Value>(value), std::forward<Values>(values)...);
  say(options, line);
}
/// A function that says remarks of the library.
std::function<void(const std::string&)> remarks(const CommonOptions& options);

}  // namespace quern::tools
