#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quern/api/error.hpp"

namespace quern::api {

/// Progress of long-running work.
struct ProgressStep {
  std::string stage;        ///< such as "parse" or "write lists"
  std::uint64_t done = 0;   ///< units of this stage
  std::uint64_t total = 0;  ///< 0: unknown
  std::string unit;         ///< "bytes", "postings", "documents"
  bool ended = false;       ///< the stage has ended
};

/// Resources of long-running work, and callbacks for its progress. None of it changes results.
struct Work {
  unsigned threads = 0;            ///< 0: all cores
  std::uint64_t memory_bytes = 0;  ///< budget for buffers and tables, at least 32 MB; 0: 1 GiB, less on small machines
  std::string tmp_folder;          ///< for work files; empty: the output's folder, or that of the system
  /// Called by any of the work's threads, one at a time and at most ten times per second within a stage. An exception
  /// that it throws ends the work.
  std::function<void(const ProgressStep&)> progress;
  /// Called with warnings, which don't stop the work; as `progress`.
  std::function<void(const std::string&)> warn;
  /// Called with remarks on the work done, such as the number of documents read; as `progress`.
  std::function<void(const std::string&)> remark;
  /// Polled frequently; when it is requested, the work throws Error with ErrorCode::cancelled and leaves nothing
  /// behind.
  std::stop_token stop;
};

/// A value that is kept with a document: a string of at most 255 bytes of UTF-8 (invalid bytes are replaced), a number,
/// stored as a double, or a boolean.
using KeptValue = std::variant<std::string_view, double, std::int64_t, bool>;

/// A document's value of a kept field.
struct KeptField {
  std::string_view name;  ///< one of IndexOptions::keep_fields
  KeptValue value;
};

/// A term in analyzed form, and its weight in a document or a query.
struct WeightedTerm {
  std::string_view term;  ///< 1 to 255 bytes of UTF-8
  double weight = 0;
};

}  // namespace quern::api
