#pragma once
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "quern/core/option_name.hpp"

namespace quern {

/// Base of the library's exceptions. The text says what is wrong, in which file and where, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file whose bytes contradict its format or its checksums.
class CorruptFile : public Error {
 public:
  using Error::Error;
};

/// Coded postings that contradict themselves. Whoever knows their file and place makes a CorruptFile with both of it.
class CorruptBlock : public CorruptFile {
 public:
  using CorruptFile::CorruptFile;
};

/// A sound file of a format version that this program does not know.
class UnsupportedVersion : public Error {
 public:
  using Error::Error;
};

/// A request that can't be carried out: a wrong value, a file of another kind, existing output.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The operating system refused: a missing file, a full disk, an unreadable folder.
class IoError : public Error {
 public:
  using Error::Error;
};

/// Memory ran out. With less of it in Resources::memory_bytes, or fewer threads, the same work takes less.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Work that its caller has stopped.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// The GPU refused or failed; the text names the call and the place in the source.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// A GPU has too little free memory, or may take no more. Other work on it goes on.
class GpuOutOfMemory : public CudaError {
 public:
  using CudaError::CudaError;
};

/// Throws IoError "DOING NAME: reason of errno", with a remedy where one is known.
[[noreturn]] inline void throw_errno(const std::string& doing, const std::string& name) {
  const int code = errno;
  std::string text = doing + " " + name + ": " + std::strerror(code);
  if (code == ENOSPC)
    text += std::string("; free some space, or choose another folder with ") + option_name<"tmp"> + " or " +
            option_name<"output">;
  throw IoError(text);
}

}  // namespace quern
