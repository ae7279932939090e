#pragma once
#ifndef __CUDACC__  // nvcc rejects fmt
#include <fmt/core.h>
#endif

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "quern/core/types.hpp"

namespace quern {

/// Base of the library's exceptions. The message names the problem, its file and place, and a remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
#ifndef __CUDACC__
  /// Inserts the values into the text, as fmt::format() does.
  template <class... Values>
  explicit Error(fmt::format_string<Values...> text, Values&&... values)
      : std::runtime_error(fmt::format(text, std::forward<Values>(values)...)) {}
#endif
};

/// A file whose bytes contradict its format or its checksums.
class CorruptFile : public Error {
 public:
  using Error::Error;
};

/// Coded postings that contradict themselves. A caller that knows the file and place turns it into a CorruptFile that
/// names both.
class CorruptBlock : public CorruptFile {
 public:
  using CorruptFile::CorruptFile;
};

/// An intact file in a format version that this program can't read.
class UnsupportedVersion : public Error {
 public:
  using Error::Error;
};

/// An invalid request: a wrong value, a file of the wrong kind, output that exists already.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The operating system failed a request: a missing file, a full disk, an unreadable folder.
class IoError : public Error {
 public:
  using Error::Error;
};

/// Out of memory. A smaller Resources::memory_bytes or fewer threads reduce the need.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// The caller stopped the work.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// A GPU call failed; the message names the call and its place in the source.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// A GPU has too little free memory, or its memory limit is reached. Other work on it continues.
class GpuOutOfMemory : public CudaError {
 public:
  using CudaError::CudaError;
};

/// What stands for an option in a text: its name between two control characters, which no other text holds in this way.
template <std::size_t size>
struct OptionPlaceholder {
  static constexpr char begin = '\x02', end = '\x03';

  consteval OptionPlaceholder(const char (&name)[size]) {  // NOLINT(google-explicit-constructor): a template argument
    text[0] = begin;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const bool fits =
          (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-' || name[i] == ' ';
      if (!fits) throw "a name has lower case letters, digits and hyphens";
      text[i + 1] = name[i];
    }
    text[size] = end;
  }

  char text[size + 2] = {};
};

/// An option as messages name it, for example fmt::format("raise {}", option_name<"memory">). The command that takes it
/// stands before it if it is not the one that runs: option_name<"index forward">. The text has a placeholder, for which
/// each front end puts its own spelling, by spell_options(): `--memory` or `memory`.
template <OptionPlaceholder placeholder>
inline constexpr const char* option_name = placeholder.text;

/// An option that a message names.
struct NamedOption {
  std::size_t begin, end;    ///< of its placeholder in the message
  std::string_view command;  ///< empty: the command that runs
  std::string_view name;
};

/// The first option that a message names, if any. Its views are into the message.
std::optional<NamedOption> find_option(std::string_view message);

/// How a front end spells an option.
using OptionSpelling = std::string(std::string_view command, std::string_view name);

/// The message with all its options spelled.
std::string spell_options(std::string_view message, OptionSpelling* spell);

/// Throws IoError "DOING NAME: error text of errno", with a remedy if one is known.
[[noreturn]] inline void throw_errno(const std::string& doing, const std::string& name) {
  const int code = errno;
  std::string text = doing + " " + name + ": " + std::strerror(code);
  if (code == ENOSPC)
    text += std::string("; free some space, or choose another folder with ") + option_name<"tmp"> + " or " +
            option_name<"output">;
  throw IoError(text);
}

/// In a handler: rethrows the current exception as one of the library's own (error.hpp). Failed allocations become
/// OutOfMemory, system errors IoError, and errors of the program or its libraries Error. The library's own exceptions,
/// and those that only a caller's function can throw (such as std::runtime_error), pass unchanged.
[[noreturn]] void throw_translated_error();

/// Calls work() and translates exceptions of the standard library into the library's own.
template <class Work>
decltype(auto) translate_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    throw_translated_error();
  }
}

/// Called by check_range(); throws InvalidArgument.
[[noreturn]] void throw_out_of_range(std::string_view option, double min, double max, double value);
[[noreturn]] void throw_out_of_range(std::string_view option, std::uint64_t min, std::uint64_t max,
                                     std::uint64_t value);

/// Throws InvalidArgument, with the option's name, unless min <= `value` <= max. NaN is always out of range.
template <class Number>
void check_range(std::string_view option, Number value, std::type_identity_t<Number> min,
                 std::type_identity_t<Number> max) {
  static_assert(std::is_floating_point_v<Number> || std::is_unsigned_v<Number>);
  using Wide = std::conditional_t<std::is_floating_point_v<Number>, double, std::uint64_t>;
  // Comparisons with NaN are false.
  if (!(value >= min && value <= max))
    throw_out_of_range(option, static_cast<Wide>(min), static_cast<Wide>(max), static_cast<Wide>(value));
}

/// Parses a size such as "64M", "1G", "4096" or "1.5G": K, M, G and T are powers of 1024, and a final B or iB is
/// allowed. Throws InvalidArgument.
std::uint64_t parse_size(std::string_view text);

/// The size as an integer in the largest unit if it is one ("64M"), otherwise with one decimal ("1.4G").
std::string size_text(std::uint64_t bytes);

/// "1 term", "2 terms"; "2 queries" with a plural of its own.
std::string count_text(std::uint64_t count, const std::string& noun, const std::string& plural = {});

}  // namespace quern
