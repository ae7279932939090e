#include "quern/api/internal/boundary.hpp"

#include <new>

#include "quern/api/error.hpp"
#include "quern/api/export.hpp"
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

namespace {

std::string program_name(std::string_view command, std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return command.empty() ? out : std::string(command) + " with " + out;
}

/// Set before any other call, if at all.
OptionSpelling* option_spelling = program_name;

}  // namespace

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

std::string first_option(std::string_view message) {
  const auto option = find_option(message);
  return option ? program_name({}, option->name) : std::string();
}

const char* version() noexcept { return quern::version(); }

}  // namespace quern::api
