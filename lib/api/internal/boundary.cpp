#include "quern/api/internal/boundary.hpp"

#include <filesystem>
#include <new>

#include "quern/api/error.hpp"
#include "quern/core/named.hpp"

namespace quern::api {
namespace {

constexpr NamedValue<ErrorCode> error_codes[] = {{"other", ErrorCode::other},
                                                 {"invalid_argument", ErrorCode::invalid_argument},
                                                 {"wrong_usage", ErrorCode::wrong_usage},
                                                 {"corrupt_file", ErrorCode::corrupt_file},
                                                 {"unsupported_version", ErrorCode::unsupported_version},
                                                 {"io", ErrorCode::io},
                                                 {"out_of_memory", ErrorCode::out_of_memory},
                                                 {"gpu", ErrorCode::gpu},
                                                 {"gpu_out_of_memory", ErrorCode::gpu_out_of_memory},
                                                 {"cancelled", ErrorCode::cancelled}};

/// Checks derived classes before their bases.
ErrorCode code_of(const quern::Error& error) {
  if (dynamic_cast<const GpuOutOfMemory*>(&error) != nullptr) return ErrorCode::gpu_out_of_memory;
  if (dynamic_cast<const CudaError*>(&error) != nullptr) return ErrorCode::gpu;
  if (dynamic_cast<const CorruptFile*>(&error) != nullptr) return ErrorCode::corrupt_file;
  if (dynamic_cast<const UnsupportedVersion*>(&error) != nullptr) return ErrorCode::unsupported_version;
  if (dynamic_cast<const WrongUsage*>(&error) != nullptr) return ErrorCode::wrong_usage;
  if (dynamic_cast<const InvalidArgument*>(&error) != nullptr) return ErrorCode::invalid_argument;
  if (dynamic_cast<const IoError*>(&error) != nullptr) return ErrorCode::io;
  if (dynamic_cast<const quern::OutOfMemory*>(&error) != nullptr) return ErrorCode::out_of_memory;
  if (dynamic_cast<const Cancelled*>(&error) != nullptr) return ErrorCode::cancelled;
  return ErrorCode::other;
}

/// Created in advance: without memory, the text can't be made. Copies share it.
const Error out_of_memory(ErrorCode::out_of_memory, "out of memory", "memory");

std::string program_name(std::string_view command, std::string_view name) {
  std::string out(name == "force" ? "overwrite" : name);
  std::replace(out.begin(), out.end(), '-', '_');
  return command.empty() ? out : std::string(command) + " with " + out;
}

/// Set before any other call, if at all.
OptionSpelling* option_spelling = program_name;

/// The first option that a message of the library names, spelled for programs; empty if it names none.
std::string first_option(std::string_view message) {
  const auto option = find_option(message);
  return option ? program_name({}, option->name) : std::string();
}

}  // namespace

const char* name_of(ErrorCode code) noexcept { return name_of_value(error_codes, code).data(); }

Error::Error(ErrorCode code, const std::string& text, std::string option)
    : std::runtime_error(text), code_(code), option_(std::move(option)) {}

Error::~Error() = default;

void throw_api_error() {
  try {
    throw;
  } catch (const quern::OutOfMemory&) {
    throw out_of_memory;
  } catch (const quern::Error& error) {
    throw Error(code_of(error), spelled(error.what()), first_option(error.what()));
  }
}

void set_option_spelling(OptionSpelling* spelling) { option_spelling = spelling; }

std::string spelled(std::string_view message) { return spell_options(message, option_spelling); }

std::vector<std::string> spelled(std::vector<std::string> messages) {
  for (std::string& message : messages) message = spelled(message);
  return messages;
}

std::function<void(const std::string&)> spelled(std::function<void(const std::string&)> take) {
  if (!take) return [](const std::string&) {};
  return [take = std::move(take)](const std::string& message) { take(spelled(message)); };
}

const char* version() noexcept { return quern::version(); }

namespace {

constexpr std::uint64_t least_memory = 32 << 20;

}  // namespace

void WorkProgress::check_stop() const {
  if (work_.stop.stop_requested()) throw Cancelled("stopped at the caller's request");
}

void WorkProgress::start(const std::string& stage, std::uint64_t total, const std::string& unit) {
  check_stop();
  const std::lock_guard lock(mutex_);
  step_ = {stage, 0, total, unit, false};
  done_ = 0;
  tell();
}

void WorkProgress::add(std::uint64_t units) {
  check_stop();
  done_ += units;
  if (!work_.progress) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && Clock::now() - last_call_ >= between_calls) tell();
}

void WorkProgress::finish() {
  const std::lock_guard lock(mutex_);
  step_.ended = true;
  if (!step_.stage.empty()) tell();
}

void WorkProgress::call(const std::function<void(const std::string&)>& function, const std::string& message) {
  check_stop();
  if (!function) return;
  const std::lock_guard lock(mutex_);
  function(spelled(message));
}

void WorkProgress::tell() {
  last_call_ = Clock::now();
  step_.done = done_;
  if (work_.progress) work_.progress(step_);
}

WorkResources::WorkResources(const Work& work, const std::string& folder)
    : progress_(work), resources_(default_resources()) {
  if (work.threads != 0) {
    check_range("threads", work.threads, 1, max_threads);
    resources_.threads = work.threads;
  }
  if (work.memory_bytes != 0) {
    if (work.memory_bytes < least_memory)
      throw InvalidArgument("{} must be at least 32M, not {}", option_name<"memory">, size_text(work.memory_bytes));
    resources_.memory_bytes = work.memory_bytes;
  }
  resources_.tmp_folder = !work.tmp_folder.empty() ? work.tmp_folder
                          : !folder.empty()        ? folder
                                                   : std::filesystem::temp_directory_path().string();
  resources_.progress = &progress_;
}

}  // namespace quern::api
