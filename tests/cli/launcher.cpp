#include "cli/launcher.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace quern::testing {
namespace {

int launcher = -1;  ///< this process's end of the connection

/// The descriptors sent to fork_launcher()'s process with each request: the request's strings and the program's
/// streams.
constexpr std::size_t num_descriptors = 4;
using Descriptors = std::array<int, num_descriptors>;

/// The numbers of a request; its strings are in a file in memory, each terminated by a zero.
struct Request {
  std::size_t bytes = 0, num_words = 0, num_variables = 0, max_file_bytes = 0;
  unsigned max_seconds = 0;
  bool closed[3] = {};
};

/// A message of one Request with its descriptors. Control data is aligned as cmsghdr.
struct Message {
  Request request;
  iovec data{&request, sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(Descriptors))] = {};
  msghdr header{nullptr, 0, &data, 1, control, sizeof control, 0};

  Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  Descriptors descriptors() {
    Descriptors received{};
    std::memcpy(received.data(), CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof received);
    return received;
  }
  void attach(const Descriptors& sent) {
    cmsghdr* const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof sent);
    std::memcpy(CMSG_DATA(first), sent.data(), sizeof sent);
  }
};

/// Pointers to `count` strings from `next` on; moves `next` past them.
std::vector<char*> pointers(char*& next, std::size_t count) {
  std::vector<char*> found;
  for (; count > 0; --count, next += std::strlen(next) + 1) found.push_back(next);
  found.push_back(nullptr);
  return found;
}

[[noreturn]] void become_program(const Request& request, const Descriptors& descriptors, const char* folder,
                                 char** command, char** environment) {
  for (int standard = 0; standard < 3; ++standard) {
    ::dup2(descriptors[standard + 1], standard);
    if (request.closed[standard]) ::close(standard);
  }
  ::alarm(request.max_seconds);
  if (request.max_file_bytes > 0) {
    const rlimit limit{request.max_file_bytes, request.max_file_bytes};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (*folder != '\0' && ::chdir(folder) != 0) ::_exit(126);
  ::execve(command[0], command, environment);
  ::_exit(127);
}

/// Called in the launcher: starts a program as a child of the launcher's parent.
pid_t start(Message& message) {
  const Request& request = message.request;
  const Descriptors descriptors = message.descriptors();
  std::string strings(request.bytes, '\0');
  pid_t process = -1;
  if (::pread(descriptors[0], strings.data(), strings.size(), 0) == static_cast<ssize_t>(strings.size())) {
    char* next = strings.data();
    const char* const folder = pointers(next, 1).front();
    std::vector<char*> command = pointers(next, request.num_words);
    std::vector<char*> environment = pointers(next, request.num_variables);
    process = static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (process == 0) become_program(request, descriptors, folder, command.data(), environment.data());
  }
  for (const int descriptor : descriptors) ::close(descriptor);
  return process;
}

[[noreturn]] void serve(int connection) {
  for (;;) {
    Message message;
    if (::recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) != sizeof message.request) ::_exit(0);
    const pid_t process = start(message);
    if (::send(connection, &process, sizeof process, MSG_NOSIGNAL) != sizeof process) ::_exit(0);
  }
}

/// A file in memory with these bytes; the caller closes it.
int memory_file(const std::string& bytes) {
  const int file = ::memfd_create("launch", MFD_CLOEXEC);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("no file in memory for a command line");
  return file;
}

}  // namespace

void fork_launcher() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const pid_t process = ::fork();
  if (process < 0) std::abort();
  if (process == 0) {
    ::close(ends[1]);
    serve(ends[0]);
  }
  ::close(ends[0]);
  launcher = ends[1];
}

pid_t launch(const Launch& launch) {
  Message message;
  Request& request = message.request;
  std::string strings = launch.working_folder + '\0';
  for (const std::string& word : launch.command) strings += word + '\0';
  for (const std::string& variable : launch.environment) strings += variable + '\0';
  request.bytes = strings.size();
  request.num_words = launch.command.size();
  request.num_variables = launch.environment.size();
  request.max_file_bytes = launch.max_file_bytes;
  request.max_seconds = launch.max_seconds;
  for (const int descriptor : launch.closed) request.closed[descriptor] = true;

  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const int file = memory_file(strings);
  message.attach({file, launch.in, launch.out, launch.err});
  pid_t process = -1;
  const bool answered =
      ::sendmsg(launcher, &message.header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message.request) &&
      ::recv(launcher, &process, sizeof process, 0) == static_cast<ssize_t>(sizeof process);
  ::close(file);
  if (!answered || process < 0) throw std::runtime_error("no process for " + launch.command.front());
  return process;
}

}  // namespace quern::testing
