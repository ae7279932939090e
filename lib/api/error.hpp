#pragma once
#include <stdexcept>
#include <string>

#include "quern/api/export.hpp"

namespace quern::api {

/// What kind of thing went wrong.
enum class ErrorCode {
  other,                ///< an error of the library itself
  invalid_argument,     ///< a request that can't be carried out: a wrong value, a file of another kind, existing output
  corrupt_file,         ///< a file whose bytes contradict its format or its checksums
  unsupported_version,  ///< a sound file of a format version that this library does not know
  io,                   ///< the operating system refused: a missing file, a full disk
  out_of_memory,        ///< memory ran out: with fewer threads or a smaller budget the same work takes less
  gpu,                  ///< there is no GPU, or it failed
  gpu_out_of_memory,    ///< a GPU has too little free memory
  cancelled             ///< the caller's stop_token asked for it
};

/// The code's name, as "corrupt_file".
QUERN_API const char* name_of(ErrorCode code) noexcept;

/// What all functions of the library throw. The text says what is wrong, in which file and where, and what to do; it
/// calls settings as the structs of this interface do ("memory_bytes" is "memory"). Thread-safe to copy and to read.
class QUERN_API Error : public std::runtime_error {
 public:
  /// `option`: the setting that a remedy names first; empty: none.
  Error(ErrorCode code, const std::string& text, std::string option = {});
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  /// The setting that the remedy names first, as "memory" or "threads"; empty: it names none.
  const std::string& option() const noexcept { return option_; }

 private:
  ErrorCode code_;
  std::string option_;
};

}  // namespace quern::api
