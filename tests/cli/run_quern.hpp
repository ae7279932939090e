#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "corpus/temporary_folder.hpp"
#include "sanitized.hpp"

/// Runs the executable as a shell would.
namespace quern::testing {

using CommandLine = std::vector<std::string>;

/// The sample corpus, topics and log of the sources.
inline const std::string sample_folder = std::string(QUERN_SOURCE_DIR) + "/sample_data";

/// The environment of a run.
struct Surroundings {
  std::string input;  ///< standard input
  std::vector<std::pair<std::string, std::string>>
      variables;                   ///< environment variables; all others named QUERN_… are removed
  std::string working_folder;      ///< empty: the test's
  std::string output_path;         ///< where standard output goes; empty: it is captured
  std::size_t max_file_bytes = 0;  ///< largest size of a file; 0: no limit
  std::vector<int> closed = {};    ///< descriptors among 0 to 2 that are closed
};

struct RunOutcome {
  int exit_status = -1;  ///< 128 + the number of the signal that ended the run
  std::string out, err;
  double seconds = 0;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs `quern` with these arguments until it exits, for at most two minutes.
RunOutcome run_quern(const CommandLine& arguments, const Surroundings& surroundings = {});

/// A run whose standard input stays open, for tests that interrupt it.
class RunningQuern {
 public:
  /// With `reads_output`, read_line() returns its output; otherwise it is discarded.
  explicit RunningQuern(const CommandLine& arguments, bool reads_output = false);
  /// Kills the run if it has not ended.
  ~RunningQuern();
  RunningQuern(const RunningQuern&) = delete;
  RunningQuern& operator=(const RunningQuern&) = delete;

  void write(const std::string& bytes);
  /// The next line of output, without its line end; waits at most a minute for it.
  std::string read_line();
  /// Sends a signal and waits for the run to end: the exit status, or 128 + the number of the signal that ended it.
  int kill(int signal);
  /// Waits for the run to end, while its input stays open; the exit status as in finish().
  int exit_status() { return wait(); }
  /// Closes its input and waits for the run to end: the exit status, or 128 + the number of the signal that ended it.
  int finish();
  /// The outcome, after the run has ended.
  long peak_memory_bytes() const { return peak_memory_bytes_; }

 private:
  int wait();

  int process_ = -1;
  int input_ = -1, output_ = -1;
  long peak_memory_bytes_ = 0;
};

/// The words after `quern` of each command, including command groups.
std::vector<CommandLine> all_commands();

/// The bytes of a file; empty if it does not exist.
std::string read_file(const std::string& path);
/// The names in a folder, including hidden ones, sorted.
CommandLine names_in(const std::string& folder);
bool contains(const std::string& text, const std::string& part);
/// The lines of a text, without line ends.
CommandLine lines_of(const std::string& text);

}  // namespace quern::testing
