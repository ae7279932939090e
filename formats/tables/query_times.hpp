#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {

/// What answers queries.
enum class Processor { cpu, gpu };

constexpr Processor other_than(Processor processor) {
  return processor == Processor::cpu ? Processor::gpu : Processor::cpu;
}

inline constexpr NamedValue<Processor> processor_names[] = {
    {"cpu", Processor::cpu, "a thread of the CPU"},
    {"gpu", Processor::gpu, "a GPU"},
};

/// Reads the column of a processor. Throws CorruptFile if it names none.
inline Processor read_processor(TabFields& row) {
  const std::string_view name = row.text();
  if (!has_named(processor_names, name)) row.fail("is of a device that is neither cpu nor gpu");
  return find_named(processor_names, name, "device").value;
}

/// The column of a GPU's strategy, of which the CPU has none.
inline std::string_view strategy_text(const std::string& strategy) {
  return strategy.empty() ? std::string_view("-") : std::string_view(strategy);
}
inline std::string read_strategy(TabFields& row) {
  const std::string_view name = row.text();
  return name == "-" ? std::string() : std::string(name);
}

/// Where times were measured, or what costs were fitted to: the first lines, `#name<TAB>text`, of both kinds of files.
struct TimesOrigin {
  std::string name;        ///< of the file, for messages
  std::string index_hash;  ///< content hash of the index's container, 16 hexadecimal digits
  std::string scoring;     ///< in words
  std::string cpu, gpu;    ///< models; empty if the file says nothing of one
};

/// Whether the line is one of these, or a comment that nobody reads; what it says goes to `origin`.
bool read_head_line(std::string_view line, TimesOrigin& origin);

/// A line for each text that is not empty, but for the name.
std::string head_lines_text(const TimesOrigin& origin);

/// Throws CorruptFile if the origin does not name an index. `what`: of what the file is.
void check_has_index(const TimesOrigin& origin, std::string_view what);

// Measured times of single queries, and what a cost model predicts them from; see query_times.md.

/// What a query's time is predicted from (Ding et al. 2009, section 5): the sizes of its lists, and how much of them a
/// GPU lacks.
struct QueryFeatures {
  std::uint64_t terms = 0;          ///< distinct ones that are in the index
  std::uint64_t shortest = 0;       ///< postings of its shortest list; 0 without lists
  std::uint64_t second = 0;         ///< of its second shortest; 0 if it has only one
  std::uint64_t postings = 0;       ///< of all its lists
  std::uint64_t blocks = 0;         ///< of all its lists
  std::uint64_t missing_bytes = 0;  ///< of its lists, that were copied to a GPU for it

  bool operator==(const QueryFeatures&) const = default;
};

struct QueryTime {
  std::uint64_t query = 0;  ///< its number in the log, from 1
  Processor device = Processor::cpu;
  std::string algorithm;
  std::string strategy;     ///< of the GPU; empty for the CPU
  std::uint64_t k = 0;      ///< results
  std::uint64_t batch = 0;  ///< queries that were answered together; 1: it was alone
  double us = 0;            ///< above 0; its share, if it was not alone
  QueryFeatures features;
};

/// Queries that a GPU answers per second, in batches that follow each other without a pause.
struct BatchRate {
  std::string algorithm, strategy;
  std::uint64_t k = 0, batch = 0;  ///< results; queries that are answered together
  double per_second = 0;           ///< above 0
};

struct QueryTimeTable : TimesOrigin {
  std::vector<BatchRate> rates;
  std::vector<QueryTime> rows;
};

/// Reads what query_times_text() wrote. `name` is what messages call the file. Throws CorruptFile, with the line, if
/// something is missing or impossible.
QueryTimeTable parse_query_times(std::string_view text, std::string_view name);

/// All of a file's lines.
std::string query_times_text(const QueryTimeTable& times);

}  // namespace quern
