#pragma once
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "quern/api/export.hpp"

namespace quern::api {

/// How far long work has come.
struct ProgressStep {
  std::string stage;        ///< as "parse" or "lists"
  std::uint64_t done = 0;   ///< units of this stage
  std::uint64_t total = 0;  ///< 0: not known
  std::string unit;         ///< "bytes", "postings", "documents"
};

/// What long work may use, and who hears of it. None of it changes results.
struct Work {
  unsigned threads = 0;            ///< 0: all cores
  std::uint64_t memory_bytes = 0;  ///< budget for buffers and tables, at least 32 MB; 0: 1 GiB, less on small machines
  std::string tmp_folder;          ///< for work files; empty: the output's folder, or that of the system
  /// Called by any of the work's threads, one at a time and not more often than ten times a second within a stage. What
  /// it throws ends the work.
  std::function<void(const ProgressStep&)> progress;
  /// Called for what the user should know although the work goes on; as `progress`.
  std::function<void(const std::string&)> warn;
  /// Asked all the time; the work then throws Error with ErrorCode::cancelled and leaves nothing behind.
  std::stop_token stop;
};

/// A value that is kept with a document: a text of at most 255 bytes of UTF-8 (what is not is repaired), a number,
/// which is kept as a double, or a boolean.
using KeptValue = std::variant<std::string_view, double, std::int64_t, bool>;

/// A document's value of a kept field.
struct KeptField {
  std::string_view name;  ///< one of IndexOptions::keep_fields
  KeptValue value;
};

/// A term as an index has it, and its weight in a document or a query.
struct WeightedTerm {
  std::string_view term;  ///< 1 to 255 bytes of UTF-8
  double weight = 0;
};

}  // namespace quern::api
