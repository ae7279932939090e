#include "cli/run_quern.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/launcher.hpp"

namespace quern::testing {
namespace {

/// Next to this program if both are installed together, else in the build folder.
std::string executable() {
  const std::string beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "quern";
  return std::filesystem::exists(beside) ? beside : QUERN_EXECUTABLE;
}

Launch launch_of(const CommandLine& arguments, const Surroundings& surroundings) {
  Launch launch;
  launch.command = {executable()};
  launch.command.insert(launch.command.end(), arguments.begin(), arguments.end());
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("QUERN_")) launch.environment.emplace_back(*variable);
  for (const auto& [name, value] : surroundings.variables) launch.environment.push_back(name + "=" + value);
  launch.working_folder = surroundings.working_folder;
  launch.closed = surroundings.closed;
  launch.max_file_bytes = surroundings.max_file_bytes;
  launch.max_seconds = 120;
  return launch;
}

int exit_status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int open_or_throw(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) throw std::runtime_error("can't open " + path);
  return descriptor;
}

}  // namespace

RunOutcome run_quern(const CommandLine& arguments, const Surroundings& surroundings) {
  const TemporaryFolder folder;
  Launch start = launch_of(arguments, surroundings);
  const std::string out_path = surroundings.output_path.empty() ? folder.path("out") : surroundings.output_path;
  start.in = open_or_throw(folder.write("in", surroundings.input), O_RDONLY);
  start.out = open_or_throw(out_path, O_WRONLY | O_CREAT);
  start.err = open_or_throw(folder.path("err"), O_WRONLY | O_CREAT);

  const auto begun = std::chrono::steady_clock::now();
  const pid_t process = launch(start);
  int status = 0;
  ::waitpid(process, &status, 0);
  RunOutcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  for (const int descriptor : {start.in, start.out, start.err}) ::close(descriptor);
  outcome.exit_status = exit_status_of(status);
  if (surroundings.output_path.empty()) outcome.out = read_file(out_path);
  outcome.err = read_file(folder.path("err"));
  return outcome;
}

RunningQuern::RunningQuern(const CommandLine& arguments, bool reads_output) {
  Launch start = launch_of(arguments, {});
  int in[2], out[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || (reads_output && ::pipe2(out, O_CLOEXEC) != 0))
    throw std::runtime_error("no pipe");
  const int null = open_or_throw("/dev/null", O_WRONLY);
  start.in = in[0];
  start.out = reads_output ? out[1] : null;
  start.err = null;
  process_ = launch(start);
  ::close(in[0]);
  ::close(null);
  if (reads_output) ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

RunningQuern::~RunningQuern() {
  if (process_ > 0) kill(SIGKILL);
  for (const int end : {input_, output_})
    if (end >= 0) ::close(end);
}

std::string RunningQuern::read_line() {
  std::string line;
  for (;;) {
    pollfd waiting{output_, POLLIN, 0};
    char c = 0;
    if (::poll(&waiting, 1, 60000) != 1 || ::read(output_, &c, 1) != 1)
      throw std::runtime_error("the run says no more");
    if (c == '\n') return line;
    line += c;
  }
}

void RunningQuern::write(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t some = ::write(input_, bytes.data() + done, bytes.size() - done);
    if (some <= 0) throw std::runtime_error("the run reads no more");
    done += static_cast<std::size_t>(some);
  }
}

int RunningQuern::kill(int signal) {
  ::kill(process_, signal);
  return wait();
}

int RunningQuern::finish() {
  ::close(std::exchange(input_, -1));
  return wait();
}

int RunningQuern::wait() {
  int status = 0;
  rusage usage{};
  ::wait4(std::exchange(process_, -1), &status, 0, &usage);
  peak_memory_bytes_ = usage.ru_maxrss * 1024;
  return exit_status_of(status);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

CommandLine names_in(const std::string& folder) {
  CommandLine names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<CommandLine> all_commands() {
  std::vector<CommandLine> commands;
  for (const std::string& line : lines_of(run_quern({"help", "--commands"}).out)) {
    std::istringstream words(line);
    CommandLine command;
    for (std::string word; words >> word;) command.push_back(word);
    command.erase(command.begin());
    if (!command.empty()) commands.push_back(command);
  }
  return commands;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

CommandLine lines_of(const std::string& text) {
  CommandLine lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace quern::testing
