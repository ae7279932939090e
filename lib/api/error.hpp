#pragma once
#include <stdexcept>
#include <string>

#ifdef __FAST_MATH__
#error \
    "Quern refuses -ffast-math (and -Ofast): linking with it changes the arithmetic of the whole process, but scores are defined bit for bit; compile and link without it"
#endif

/// Symbol visibility of the shared library.
#define QUERN_API __attribute__((visibility("default")))
#define QUERN_INTERNAL __attribute__((visibility("hidden")))

/// Quern as a library. Unless they say otherwise, functions throw only quern::api::Error. Objects are handles; no
/// arithmetic of scores is in these headers.
namespace quern::api {

/// The library's version, such as "0.1.0".
QUERN_API const char* version() noexcept;

/// The kind of an error.
enum class ErrorCode {
  other,                ///< an error of the library itself
  invalid_argument,     ///< an invalid request: a wrong value, a file of another kind, existing output
  wrong_usage,          ///< options that contradict each other or name nothing, an output that is also an input
  corrupt_file,         ///< a file whose bytes contradict its format or its checksums
  unsupported_version,  ///< an intact file of a format version that this library can't read
  io,                   ///< the operating system refused: a missing file, a full disk
  out_of_memory,        ///< memory ran out; fewer threads or a smaller budget reduce what the work needs
  gpu,                  ///< there is no GPU, or it failed
  gpu_out_of_memory,    ///< a GPU has too little free memory
  cancelled             ///< requested by the caller's stop_token
};

/// The code's name, for example "corrupt_file".
QUERN_API const char* name_of(ErrorCode code) noexcept;

/// The exception of all functions of the library. Its text says what is wrong, in which file and where, and what to do;
/// settings have their names in this interface ("memory_bytes" is "memory"). Thread-safe to copy and to read.
class QUERN_API Error : public std::runtime_error {
 public:
  /// `option`: the first setting that the remedy names; empty: none.
  Error(ErrorCode code, const std::string& text, std::string option = {});
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  /// The first setting that the remedy names, such as "memory" or "threads"; empty: none.
  const std::string& option() const noexcept { return option_; }

 private:
  ErrorCode code_;
  std::string option_;
};

}  // namespace quern::api
