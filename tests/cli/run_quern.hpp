#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "corpus/temporary_folder.hpp"

/// Runs the executable as a shell would.
namespace quern::testing {

using CommandLine = std::vector<std::string>;

/// The corpus, topics and log that come with the sources.
inline const std::string sample_folder = std::string(QUERN_SOURCE_DIR) + "/sample_data";

/// What a run finds besides its arguments.
struct Surroundings {
  std::string input;                                           ///< standard input
  std::vector<std::pair<std::string, std::string>> variables;  ///< of the environment, all others named QUERN_… away
  std::string working_folder;                                  ///< empty: the test's own
  std::string output_path;                                     ///< where standard output goes; empty: it is kept
  std::size_t max_file_bytes = 0;                              ///< no file may grow larger; 0: any may
};

struct RunOutcome {
  int exit_status = -1;  ///< 128 + its number where a signal ended the run
  std::string out, err;
  double seconds = 0;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs `quern` with these arguments to its end, for two minutes at the most.
RunOutcome run_quern(const CommandLine& arguments, const Surroundings& surroundings = {});

/// A run whose standard input stays open, for tests that end it in the middle.
class RunningQuern {
 public:
  /// With `reads_output` what it writes is there for read_line(); else it goes nowhere.
  explicit RunningQuern(const CommandLine& arguments, bool reads_output = false);
  /// Kills it if it still runs.
  ~RunningQuern();
  RunningQuern(const RunningQuern&) = delete;
  RunningQuern& operator=(const RunningQuern&) = delete;

  void write(const std::string& bytes);
  /// The next line of its output, without its end; waits for it, for a minute at the most.
  std::string read_line();
  void kill(int signal);
  /// Ends its input and waits for it; the exit status, 128 + its number where a signal ended it.
  int finish();
  /// Of the run, once it has ended.
  long peak_memory_bytes() const { return peak_memory_bytes_; }

 private:
  int wait();

  int process_ = -1;
  int input_ = -1, output_ = -1;
  long peak_memory_bytes_ = 0;
};

/// Whether the executable was built with AddressSanitizer as this test was: then it takes more memory.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Bytes of a file; empty where there is none.
std::string read_file(const std::string& path);
/// Names in a folder, hidden ones too, sorted.
CommandLine names_in(const std::string& folder);
bool contains(const std::string& text, const std::string& part);
/// The lines of a text, without their ends.
CommandLine lines_of(const std::string& text);

}  // namespace quern::testing
