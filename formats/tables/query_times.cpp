#include "quern/formats/tables/query_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "quern/core/error.hpp"
#include "quern/core/named.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

constexpr NamedValue<Processor> device_names[] = {{"cpu", Processor::cpu}, {"gpu", Processor::gpu}};

/// What stands for no strategy.
constexpr std::string_view no_strategy = "-";

/// Lines `#name<TAB>text` before the rows.
struct HeadLine {
  std::string_view name;
  std::string QueryTimeTable::*text;
};
constexpr HeadLine head_lines[] = {{"index", &QueryTimeTable::index_hash},
                                   {"scoring", &QueryTimeTable::scoring},
                                   {"cpu", &QueryTimeTable::cpu},
                                   {"gpu", &QueryTimeTable::gpu}};

constexpr std::string_view columns =
    "query\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing";

/// Takes the fields of a row, one after the other. Throws CorruptFile at the row.
class RowReader {
 public:
  RowReader(std::string_view line, std::string_view name, std::uint64_t number)
      : rest_(line), name_(name), number_(number) {}

  std::string_view text() {
    if (at_end_) fail("has fewer than the 13 columns that its first line names");
    const std::size_t tab = rest_.find('\t');
    const std::string_view field = rest_.substr(0, tab);
    at_end_ = tab == std::string_view::npos;
    rest_.remove_prefix(at_end_ ? rest_.size() : tab + 1);
    if (field.empty()) fail("has an empty column");
    return field;
  }
  template <class Number>
  Number number() {
    const std::string_view field = text();
    Number value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size())
      fail(fmt::format("has \"{:.20}\" where a number belongs", field));
    return value;
  }
  [[noreturn]] void fail(std::string_view why) const { fail_at_line(name_, number_, why); }
  void end() const {
    if (!at_end_) fail("has more columns than its first line names");
  }

 private:
  std::string_view rest_, name_;
  std::uint64_t number_;
  bool at_end_ = false;
};

Processor read_device(RowReader& row) {
  const std::string_view name = row.text();
  for (const auto& device : device_names)
    if (device.name == name) return device.value;
  row.fail(fmt::format("is of the device \"{:.20}\", which is neither cpu nor gpu", name));
}

void check(const QueryTime& time, const RowReader& row) {
  if (time.query == 0 || time.k == 0 || time.batch == 0)
    row.fail("has a query, k or batch of 0, which all begin with 1");
  if (!(time.us > 0) || !std::isfinite(time.us)) row.fail("has a time that is not above 0");
  const QueryFeatures& of = time.features;
  if (of.shortest > of.postings || of.second > of.postings || (of.terms > 1 && of.second < of.shortest))
    row.fail("has lists whose lengths contradict each other");
}

QueryTime read_row(RowReader row) {
  QueryTime time;
  time.query = row.number<std::uint64_t>();
  time.device = read_device(row);
  time.algorithm = row.text();
  time.strategy = row.text();
  if (time.strategy == no_strategy) time.strategy.clear();
  time.k = row.number<std::uint64_t>();
  time.batch = row.number<std::uint64_t>();
  time.us = row.number<double>();
  QueryFeatures& of = time.features;
  for (std::uint64_t* feature : {&of.terms, &of.shortest, &of.second, &of.postings, &of.blocks, &of.missing_bytes})
    *feature = row.number<std::uint64_t>();
  row.end();
  check(time, row);
  return time;
}

/// Whether the line is a head line, or a comment that nobody reads.
bool read_head_line(std::string_view line, QueryTimeTable& times) {
  if (!line.starts_with('#')) return false;
  for (const HeadLine& head : head_lines) {
    std::string_view rest = line.substr(1);
    if (!rest.starts_with(head.name)) continue;
    rest.remove_prefix(head.name.size());
    if (rest.starts_with('\t')) (times.*head.text) = rest.substr(1);
  }
  return true;
}

}  // namespace

QueryTimeTable parse_query_times(std::string_view text, std::string_view name) {
  return with_own_errors([&] {
    QueryTimeTable times;
    times.name = name;
    LineReader lines(without_byte_order_mark(text));
    bool has_columns = false;
    for (std::string_view line; lines.next(line);) {
      if (read_head_line(line, times)) continue;
      if (has_columns) {
        times.rows.push_back(read_row(RowReader(line, name, lines.number())));
        continue;
      }
      if (line != columns)
        fail_at_line(name, lines.number(), "does not name the columns of query times: this is no file of them");
      has_columns = true;
    }
    if (!has_columns) throw CorruptFile(times.name + " has no line that names the columns of query times");
    if (times.index_hash.empty()) throw CorruptFile(times.name + " does not say of which index its query times are");
    return times;
  });
}

std::string query_times_text(const QueryTimeTable& times) {
  return with_own_errors([&] {
    std::string text;
    for (const HeadLine& head : head_lines)
      if (!(times.*head.text).empty()) text += fmt::format("#{}\t{}\n", head.name, times.*head.text);
    text.append(columns).append("\n");
    for (const QueryTime& time : times.rows) {
      const QueryFeatures& of = time.features;
      fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", time.query,
                     name_of_value(device_names, time.device), time.algorithm,
                     time.strategy.empty() ? no_strategy : std::string_view(time.strategy), time.k, time.batch, time.us,
                     of.terms, of.shortest, of.second, of.postings, of.blocks, of.missing_bytes);
    }
    return text;
  });
}

}  // namespace quern
