#include "eval_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quern/core/error.hpp"
#include "quern/text/utf8.hpp"

namespace quern::tools {
namespace {

/// The page's head: no script, and nothing from elsewhere.
constexpr std::string_view report_head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evaluation</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1em auto; max-width: 60em; padding: 0 1em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #8885; padding: .2em .7em; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { display: block; max-width: 45em; width: 100%; }
svg text { fill: currentColor; font-size: 14px; }
summary { cursor: pointer; }
.key { display: inline-block; height: .7em; margin-right: .5em; width: 1.5em; }
</style></head><body>
)";

/// Runs' colours, in turn; bars above and below 0 have the first two.
constexpr std::string_view colours[] = {"#3b7dd8", "#d9622b", "#2a9d6f", "#a557b8", "#b8860b", "#777777"};

/// A name from a file, which may have any bytes, as text that has no meaning in HTML and keeps its writing direction to
/// itself.
std::string name_html(std::string_view name) {
  std::string repaired, out = "<bdi>";
  repair_utf8(name, repaired);
  for (const char c : repaired) {
    constexpr std::pair<char, const char*> entities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    const auto* const entity = std::ranges::find(entities, c, &std::pair<char, const char*>::first);
    entity == std::end(entities) ? out += c : out += entity->second;
  }
  return out + "</bdi>";
}

std::string value_html(const api::Measure& measure, double value) {
  return measure.is_count ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value);
}

std::string row_html(std::string_view cell, std::span<const std::string> cells) {
  std::string out = "<tr>";
  for (const std::string& text : cells) out += fmt::format("<{0}>{1}</{0}>", cell, text);
  return out + "</tr>\n";
}

/// The area of a plot in units of its view box, with room for labels on the left and below.
struct PlotArea {
  static constexpr double width = 600, left = 55, top = 10, right = 590;
  double height, low, high;  ///< the values at the lower and upper edge

  double bottom() const { return height - 30; }
  double y(double value) const { return top + (high - value) / (high - low) * (bottom() - top); }
  /// The opening tag, and a line with a label at each of `values`.
  std::string begin(std::string_view label, std::span<const double> values) const {
    std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height, label);
    for (const double value : values)
      out += fmt::format(
          "<path d=\"M{} {:.1f}H{}\" stroke=\"#8886\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2g}</text>\n",
          left, y(value), right, left - 5, y(value) + 5, value);
    return out;
  }
  std::string end(std::string_view x_label) const {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text></svg>\n", right, height - 5, x_label);
  }
};

/// Values as bars from 0, in their order.
std::string bars_html(std::span<const double> values, std::string_view x_label) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  PlotArea area{220, std::min(*least, 0.0), std::max(*most, 0.0)};
  if (area.low == area.high) area.high = 1;
  std::vector<double> lines = {0};
  for (const double edge : {area.low, area.high})
    // The label of an edge near 0 would cover that of 0.
    if (std::abs(area.y(edge) - area.y(0)) > 15) lines.push_back(edge);
  std::string bars[2];  // up, down
  const double step = (PlotArea::right - PlotArea::left) / static_cast<double>(values.size()), bar = 0.9 * step;
  for (std::size_t i = 0; i < values.size(); ++i)
    bars[values[i] < 0] += fmt::format("M{:.2f} {:.2f}h{:.3f}V{:.2f}h-{:.3f}z", PlotArea::left + step * double(i),
                                       area.y(0), bar, area.y(values[i]), bar);
  std::string out = area.begin("bars", lines);
  for (std::size_t i = 0; i < std::size(bars); ++i)
    out += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", bars[i], colours[i]);
  return out + area.end(x_label);
}

/// A query and the values of one or two runs.
struct QueryRow {
  const std::string* qid;
  double first, other, shown;  ///< shown: the value or the difference that the rows are sorted by
};

/// Bars of all rows, the highest first, and a table of them, or of the outermost.
std::string queries_html(std::vector<QueryRow> rows, std::vector<std::string> heading) {
  constexpr std::size_t most_rows = 1000;
  std::stable_sort(rows.begin(), rows.end(), [](const QueryRow& a, const QueryRow& b) { return a.shown > b.shown; });
  std::vector<double> values;
  for (const QueryRow& row : rows) values.push_back(row.shown);
  std::string out = bars_html(values, "queries, sorted");
  const bool fits = rows.size() <= most_rows;
  out += fmt::format("<details{}><summary>{}</summary><div class=\"wide\"><table>\n", rows.size() <= 20 ? " open" : "",
                     fits ? count_text(rows.size(), "query", "queries")
                          : fmt::format("The first and the last {} of {} queries", most_rows / 2, rows.size()));
  out += row_html("th", heading);
  if (!fits) rows.erase(rows.begin() + most_rows / 2, rows.end() - most_rows / 2);
  for (const QueryRow& row : rows) {
    std::vector<std::string> cells = {name_html(*row.qid), fmt::format("{:.4f}", row.first)};
    if (heading.size() > cells.size()) {
      cells.push_back(fmt::format("{:.4f}", row.other));
      cells.push_back(fmt::format("{:+.4f}", row.shown));
    }
    out += row_html("td", cells);
  }
  return out + "</table></div></details>\n";
}

class Report {
 public:
  Report(const api::Evaluation& evaluation, const EvaluationInputs& inputs) : evaluation_(evaluation), inputs_(inputs) {
    for (const std::string& run : inputs.runs) names_.push_back(name_html(run));
  }

  std::string html() {
    out_ = report_head;
    add_settings();
    add_measures();
    add_curves();
    const auto measure =
        std::ranges::find_if(evaluation_.measures, [](const api::Measure& m) { return m.is_by_query && !m.is_count; });
    const auto number = static_cast<std::size_t>(measure - evaluation_.measures.begin());
    if (inputs_.options.compare) {
      for (std::size_t run = 1; run < names_.size(); ++run) add_difference(run, number);
    } else if (measure != evaluation_.measures.end()) {
      out_ += fmt::format("<h2>{} by query</h2>\n", measure->name);
      out_ += queries_html(rows_of(0, number), {"query", measure->name});
    }
    return std::move(out_) + "</body></html>\n";
  }

 private:
  bool counts(std::size_t query) const {
    return inputs_.options.complete ||
           std::ranges::all_of(evaluation_.runs, [&](const api::RunValues& run) { return run.has_results[query]; });
  }

  void add_settings() {
    const api::EvaluationOptions& options = inputs_.options;
    const std::uint64_t queries =
        options.compare ? evaluation_.compared_queries
                        : (options.complete ? evaluation_.qids.size() : evaluation_.runs.front().evaluated);
    out_ += fmt::format(
        "<h1>Evaluation</h1>\n<p>Judgements: {}, {} of {} counted{}. Relevant from level {}, {}, as "
        "trec_eval {}.</p>\n",
        name_html(inputs_.qrels), queries, count_text(evaluation_.qids.size(), "query", "queries"),
        options.complete ? ", those without results as 0" : "", options.relevance_level,
        options.depth ? fmt::format("the first {} results", *options.depth) : "all results", options.trec_eval);
    if (options.compare)
      out_ += fmt::format(
          "<p>Two-sided p of a paired t-test and of a randomization test ({} random signs where not all "
          "are tried, seed {}){}.</p>\n",
          options.samples, options.seed, names_.size() > 2 ? ", Holm: corrected for several runs" : "");
  }

  void add_measures() {
    std::vector<std::string> heading = {"measure"};
    heading.insert(heading.end(), names_.begin(), names_.end());
    out_ += "<div class=\"wide\"><table>\n" + row_html("th", heading);
    for (std::size_t i = 0; i < evaluation_.measures.size(); ++i) {
      const api::Measure& measure = evaluation_.measures[i];
      std::vector<std::string> cells = {measure.name};
      if (inputs_.options.compare) {
        cells.push_back(value_html(measure, evaluation_.comparisons[i].first_mean));
        for (const api::RunDifference& other : evaluation_.comparisons[i].others)
          cells.push_back(value_html(measure, other.mean));
      } else {
        cells.push_back(value_html(measure, evaluation_.runs.front().values[i]));
      }
      out_ += row_html("td", cells);
    }
    out_ += "</table></div>\n";
  }

  void add_curves() {
    constexpr double lines[] = {0, 0.25, 0.5, 0.75, 1};
    const PlotArea area{300, 0, 1};
    out_ += "<h2>Precision by recall</h2>\n<p>Interpolated, the mean of the queries.</p>\n";
    for (std::size_t run = 0; run < names_.size(); ++run)
      out_ += fmt::format("<div><span class=\"key\" style=\"background:{}\"></span>{}</div>\n",
                          colours[run % std::size(colours)], names_[run]);
    out_ += area.begin("Precision by recall", lines);
    for (std::size_t run = 0; run < names_.size(); ++run) {
      const std::vector<double>& curve = evaluation_.runs[run].curve;
      std::string points;
      for (std::size_t i = 0; i < curve.size(); ++i)
        points +=
            fmt::format("{:.1f},{:.1f} ",
                        PlotArea::left + double(i) / double(curve.size() - 1) * (PlotArea::right - PlotArea::left),
                        area.y(curve[i]));
      out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points,
                          colours[run % std::size(colours)]);
    }
    out_ += area.end("recall from 0 to 1");
  }

  std::vector<QueryRow> rows_of(std::size_t other, std::size_t measure) const {
    const std::size_t measures = evaluation_.measures.size();
    std::vector<QueryRow> rows;
    for (std::size_t query = 0; query < evaluation_.qids.size(); ++query) {
      if (!counts(query)) continue;
      const double first = evaluation_.runs.front().by_query[query * measures + measure],
                   value = evaluation_.runs[other].by_query[query * measures + measure];
      rows.push_back({&evaluation_.qids[query], first, value, other == 0 ? first : value - first});
    }
    return rows;
  }

  void add_difference(std::size_t run, std::size_t measure) {
    const bool with_holm = names_.size() > 2;
    std::vector<std::string> heading = {"measure", "difference", "wins", "ties", "losses", "t", "p(t)", "p(random)"};
    if (with_holm) heading.insert(heading.end(), {"Holm(t)", "Holm(random)"});
    out_ += fmt::format("<h2>{} compared with {}</h2>\n<div class=\"wide\"><table>\n", names_[run], names_.front());
    out_ += row_html("th", heading);
    for (const api::MeasureComparison& compared : evaluation_.comparisons) {
      const api::RunDifference& other = compared.others[run - 1];
      std::vector<std::string> cells = {compared.measure,
                                        fmt::format("{:+.4f}", other.difference),
                                        std::to_string(other.wins),
                                        std::to_string(other.ties),
                                        std::to_string(other.losses),
                                        other.t ? fmt::format("{:.3f}", *other.t) : "-",
                                        p_text(other.t_p),
                                        p_text(other.randomization_p)};
      if (with_holm) cells.insert(cells.end(), {p_text(other.holm_t_p), p_text(other.holm_randomization_p)});
      out_ += row_html("td", cells);
    }
    const std::string& name = evaluation_.measures[measure].name;
    out_ += fmt::format("</table></div>\n<h3>Differences in {} by query</h3>\n", name);
    out_ += queries_html(rows_of(run, measure), {"query", names_.front(), names_[run], "difference"});
  }

  const api::Evaluation& evaluation_;
  const EvaluationInputs& inputs_;
  std::vector<std::string> names_;  ///< of the runs, in HTML
  std::string out_;
};

}  // namespace

std::string p_text(std::optional<double> p) {
  if (!p) return "-";
  return *p >= 0.0001 || *p == 0 ? fmt::format("{:.4f}", *p) : fmt::format("{:.1e}", *p);
}

std::string html_report(const api::Evaluation& evaluation, const EvaluationInputs& inputs) {
  return Report(evaluation, inputs).html();
}

}  // namespace quern::tools
