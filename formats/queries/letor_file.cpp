#include "quern/formats/queries/letor_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace quern {
namespace {

float value_of(const LetorRow& row, std::size_t feature) {
  return row.features.column(static_cast<std::uint32_t>(feature))[row.row];
}

}  // namespace

std::string letor_line(const LetorRow& row, std::size_t num_features) {
  std::string line = fmt::format("{} qid:{}", row.label, row.qid);
  for (std::size_t feature = 0; feature < num_features; ++feature)
    fmt::format_to(std::back_inserter(line), " {}:{}", feature + 1, value_of(row, feature));
  return line.append(" # ").append(row.docno).append(1, '\n');
}

std::string letor_json(const LetorRow& row, std::span<const std::string> names) {
  const auto quoted = [](std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string line = fmt::format("{{\"qid\":{},\"docno\":{},\"label\":{},\"features\":{{", quoted(row.qid),
                                 quoted(row.docno), row.label);
  for (std::size_t feature = 0; feature < names.size(); ++feature)
    fmt::format_to(std::back_inserter(line), "{}{}:{}", feature == 0 ? "" : ",", quoted(names[feature]),
                   value_of(row, feature));
  return line.append("}}\n");
}

}  // namespace quern
