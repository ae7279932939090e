#include "quern/formats/tables/query_times.hpp"

#include <fmt/format.h>

#include <iterator>

namespace quern {
namespace {

constexpr std::string_view time_columns =
    "query\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing";

void check(const QueryTime& time, const TabFields& row) {
  if (time.query == 0 || time.k == 0 || time.batch == 0)
    row.fail("has a query, k or batch of 0; all must be at least 1");
  if (!(time.us > 0)) row.fail("has a time that is not positive");
  const QueryFeatures& features = time.features;
  if (features.shortest > features.postings || features.second > features.postings ||
      (features.terms > 1 && features.second < features.shortest))
    row.fail("has lists whose lengths contradict each other");
}

QueryTime read_row(TabFields row) {
  QueryTime time;
  time.query = row.count();
  time.device = read_processor(row);
  time.algorithm = row.text();
  time.strategy = read_strategy(row);
  time.k = row.count();
  time.batch = row.count();
  time.us = row.number();
  QueryFeatures& features = time.features;
  for (std::uint64_t* feature : {&features.terms, &features.shortest, &features.second, &features.postings,
                                 &features.blocks, &features.missing_bytes})
    *feature = row.count();
  row.end();
  check(time, row);
  return time;
}

constexpr std::string_view rate_name = "#rate";

bool is_rate(std::string_view line) {
  return line.starts_with(rate_name) && line.substr(rate_name.size()).starts_with('\t');
}

BatchRate read_rate(TabFields row) {
  row.text();  // the description
  BatchRate rate;
  rate.algorithm = row.text();
  rate.strategy = row.text();
  rate.k = row.count();
  rate.batch = row.count();
  rate.per_second = row.number();
  row.end();
  if (rate.k == 0 || rate.batch == 0) row.fail("has a k or batch of 0; both must be at least 1");
  if (!(rate.per_second > 0)) row.fail("has a rate that is not positive");
  return rate;
}

struct HeadLine {
  std::string_view name;
  std::string TimesOrigin::*text;
};

constexpr HeadLine head_lines[] = {{"index", &TimesOrigin::index_hash},
                                   {"scoring", &TimesOrigin::scoring},
                                   {"cpu", &TimesOrigin::cpu},
                                   {"gpu", &TimesOrigin::gpu}};

}  // namespace

QueryTimeTable parse_query_times(std::string_view text, std::string_view name) {
  QueryTimeTable times;
  times.name = name;
  LineReader lines(without_byte_order_mark(text));
  bool has_columns = false;
  for (std::string_view line; lines.next(line);) {
    if (is_rate(line)) {
      times.rates.push_back(read_rate(TabFields(line, name, lines.number())));
      continue;
    }
    if (read_head_line(line, times)) continue;
    if (has_columns) {
      times.rows.push_back(read_row(TabFields(line, name, lines.number())));
      continue;
    }
    if (line != time_columns)
      fail_at_line(name, lines.number(), "does not name the columns of query times: it is not a file of query times");
    has_columns = true;
  }
  if (!has_columns) throw CorruptFile(times.name + " lacks the line with the columns of query times");
  check_has_index(times, "query times");
  return times;
}

std::string query_times_text(const QueryTimeTable& times) {
  std::string text = head_lines_text(times);
  for (const BatchRate& rate : times.rates)
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\n", rate_name, rate.algorithm, rate.strategy,
                   rate.k, rate.batch, rate.per_second);
  text.append(time_columns).append("\n");
  for (const QueryTime& time : times.rows) {
    const QueryFeatures& features = time.features;
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", time.query,
                   name_of_value(processor_names, time.device), time.algorithm, strategy_text(time.strategy), time.k,
                   time.batch, time.us, features.terms, features.shortest, features.second, features.postings,
                   features.blocks, features.missing_bytes);
  }
  return text;
}

bool read_head_line(std::string_view line, TimesOrigin& origin) {
  if (!line.starts_with('#')) return false;
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return true;
  for (const HeadLine& head : head_lines)
    // Trim white space such as a CR, which would not survive writing and reading.
    if (line.substr(1, tab - 1) == head.name) origin.*head.text = trim(line.substr(tab + 1));
  return true;
}

std::string head_lines_text(const TimesOrigin& origin) {
  std::string text;
  for (const HeadLine& head : head_lines) {
    if ((origin.*head.text).empty()) continue;
    text.append("#").append(head.name).append("\t").append(origin.*head.text).append("\n");
  }
  return text;
}

void check_has_index(const TimesOrigin& origin, std::string_view what) {
  if (origin.index_hash.empty())
    throw CorruptFile(origin.name + " does not name the index that its " + std::string(what) + " belong to");
}

}  // namespace quern
