#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

/// Starts programs from a small process that is forked before any test runs. Linux includes the memory before exec() in
/// a process's peak, so a program started by a test process would have the peak of all earlier tests.
namespace quern::testing {

struct Launch {
  std::vector<std::string> command;      ///< path of the program and its arguments
  std::vector<std::string> environment;  ///< NAME=VALUE; nothing is inherited
  std::string working_folder;            ///< empty: this process's at its start
  std::vector<int> closed;               ///< descriptors among 0 to 2 that the program starts without
  std::size_t max_file_bytes = 0;        ///< largest file that it may write; 0: no limit
  unsigned max_seconds = 0;              ///< time until it is killed; 0: never
  int in = -1, out = -1, err = -1;       ///< its descriptors 0 to 2
};

/// Forks the process that starts programs. Call once, before memory is allocated.
void fork_launcher();

/// Starts a program as a child of this process. Its exit status is 126 without its working folder, and 127 if it can't
/// be run. Throws std::runtime_error if no process can be created.
pid_t launch(const Launch& launch);

}  // namespace quern::testing
