#pragma once

/// Set-up of the process before any command runs.
namespace quern::tools {

/// Opens descriptors 0 to 2 where the caller closed them, so that no file that a command opens takes their place. What
/// is read from or written to such an input or output fails; messages to a closed standard error are lost.
void occupy_standard_streams();

/// Has the signals that end a process, such as SIGINT and SIGTERM, remove unfinished outputs, say so on standard error,
/// and end it with 128 plus the signal's number; those that the caller ignores stay ignored. A mapped file that was cut
/// short is an error like others. To be called before any thread is started. Throws IoError if none can be.
void end_cleanly_on_signals();

/// Throws IoError, with a remedy, if the system does not let the process have as many threads besides those that it
/// has. Later it would be a thread of a library that fails, out of reach.
void check_threads(unsigned threads);

/// Removes unfinished outputs and ends the process as if `signal` had killed it.
[[noreturn]] void end_in_silence(int signal);

}  // namespace quern::tools
