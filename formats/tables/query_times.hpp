#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/tables/processor.hpp"
#include "quern/formats/tables/times_origin.hpp"

/// Measured times of single queries, and what a cost model predicts them from; see query_times.md.
namespace quern {

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
