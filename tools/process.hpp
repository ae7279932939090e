#pragma once

/// What the program arranges with the system before any command runs.
namespace quern::tools {

/// Opens descriptors 0 to 2 where the caller closed them, so that no file that a command opens takes their place. What
/// is read from or written to such an input or output fails; messages to a closed standard error are lost.
void occupy_standard_streams();

/// Has SIGINT and SIGTERM remove unfinished outputs, say so on standard error, and end the process with 128 plus the
/// signal's number; signals that the caller ignores stay ignored. To be called before any thread is started.
void end_cleanly_on_signals();

}  // namespace quern::tools
