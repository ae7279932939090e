#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <system_error>
#include <thread>

#include "quern/io/atomic_output.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

/// Writes to standard error past all buffers: other threads may hold their locks.
void write_message(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = ::write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (size <= 0) return;
    written += static_cast<std::size_t>(size);
  }
}

/// Sent by a thread that reads a mapped file past its end.
const int bus_error = SIGRTMIN;

[[noreturn]] void end_on(int signal) {
  std::string text = signal == bus_error ? std::string(
                                               "quern: error: an input file was truncated or became unreadable while "
                                               "it was in use; run the command again")
                                         : fmt::format("\nquern: terminated by SIG{}", ::sigabbrev_np(signal));
  const char* separator = "; not written: ";
  for (const std::string& name : discard_unfinished_outputs()) {
    text += separator + name;
    separator = ", ";
  }
  write_message(text + "\n");
  ::_exit(signal == bus_error ? 1 : 128 + signal);
}

/// Leaves the rest to the thread that waits for signals: little may be done here.
void report_bus_error(int) {
  ::kill(::getpid(), bus_error);
  for (;;) ::pause();
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// std::thread's constructor, with a remedy where the system refuses.
template <class Work>
std::thread start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw IoError(
        "can't start a thread: {}; use fewer with -j, close other programs, or raise the process limit (ulimit -u)",
        error.what());
  }
}

}  // namespace

void occupy_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one. Opened the wrong way round, so that its use is an error; but a message
    // that can't be shown is none.
    const int opened = ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
    if (opened != descriptor) ::_exit(1);
  }
}

void end_in_silence(int signal) {
  discard_unfinished_outputs();
  ::_exit(128 + signal);
}

void check_threads(unsigned threads) {
  std::mutex held;
  std::vector<std::thread> started;
  const auto join_all = [&] {
    for (std::thread& thread : started) thread.join();
  };
  try {
    const std::lock_guard lock(held);  // until all are there
    while (started.size() < threads) started.push_back(start_thread([&held] { const std::lock_guard wait(held); }));
  } catch (...) {
    join_all();
    throw;
  }
  join_all();
}

void end_cleanly_on_signals() {
  // A write fails instead, and its caller decides: messages may get lost, files may not.
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = report_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, bus_error);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU})
    if (!is_ignored(signal)) ::sigaddset(&signals, signal);
  // Threads inherit the mask, so that the one below is the only one that takes these signals.
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  start_thread([signals] {
    int signal = 0;
    if (::sigwait(&signals, &signal) == 0) end_on(signal);
  }).detach();
}

}  // namespace quern::tools
