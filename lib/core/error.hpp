#pragma once
#ifndef __CUDACC__  // nvcc rejects fmt
#include <fmt/core.h>
#endif

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "quern/core/option_name.hpp"

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

}  // namespace quern
