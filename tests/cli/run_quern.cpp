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

namespace quern::testing {
namespace {

constexpr unsigned max_seconds = 120;

/// Strings as exec() takes them.
class CStrings {
 public:
  explicit CStrings(CommandLine words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  CommandLine words_;
  std::vector<char*> pointers_;
};

/// Next to this program if both are installed together, else in the build folder.
std::string executable() {
  const std::string beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "quern";
  return std::filesystem::exists(beside) ? beside : QUERN_EXECUTABLE;
}

CStrings command_of(const CommandLine& arguments) {
  CommandLine words = {executable()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return CStrings(std::move(words));
}

CStrings environment_of(const Surroundings& surroundings) {
  CommandLine words;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("QUERN_")) words.emplace_back(*variable);
  for (const auto& [name, value] : surroundings.variables) words.push_back(name + "=" + value);
  return CStrings(std::move(words));
}

/// In the child: only what is safe between fork() and exec().
[[noreturn]] void become_quern(CStrings& command, CStrings& environment, const Surroundings& surroundings, int in,
                               int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const int descriptor : surroundings.closed) ::close(descriptor);
  ::alarm(max_seconds);
  if (surroundings.max_file_bytes > 0) {
    const rlimit limit{surroundings.max_file_bytes, surroundings.max_file_bytes};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!surroundings.working_folder.empty() && ::chdir(surroundings.working_folder.c_str()) != 0) ::_exit(126);
  ::execve(command.get()[0], command.get(), environment.get());
  ::_exit(127);
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
  CStrings command = command_of(arguments), environment = environment_of(surroundings);
  const std::string out_path = surroundings.output_path.empty() ? folder.path("out") : surroundings.output_path;
  const int in = open_or_throw(folder.write("in", surroundings.input), O_RDONLY);
  const int out = open_or_throw(out_path, O_WRONLY | O_CREAT);
  const int err = open_or_throw(folder.path("err"), O_WRONLY | O_CREAT);

  const auto begun = std::chrono::steady_clock::now();
  const pid_t process = ::fork();
  if (process == 0) become_quern(command, environment, surroundings, in, out, err);
  int status = 0;
  ::waitpid(process, &status, 0);
  RunOutcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  for (const int descriptor : {in, out, err}) ::close(descriptor);
  outcome.exit_status = exit_status_of(status);
  if (surroundings.output_path.empty()) outcome.out = read_file(out_path);
  outcome.err = read_file(folder.path("err"));
  return outcome;
}

RunningQuern::RunningQuern(const CommandLine& arguments, bool reads_output) {
  CStrings command = command_of(arguments), environment = environment_of({});
  int in[2], out[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || (reads_output && ::pipe2(out, O_CLOEXEC) != 0))
    throw std::runtime_error("no pipe");
  const int null = open_or_throw("/dev/null", O_WRONLY);
  process_ = ::fork();
  if (process_ == 0) become_quern(command, environment, {}, in[0], reads_output ? out[1] : null, null);
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
