#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/core/ascii_text.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/number_text.hpp"
#include "quern/formats/rankers/ranklib_parts.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {
namespace {

enum class RanklibKind : std::uint8_t { trees, bags, linear, linear_with_constant, unread };

/// What RankLib writes behind "## " in the first line of its models.
struct RanklibRanker {
  std::string_view name;
  RanklibKind kind;
};
constexpr RanklibRanker ranklib_rankers[] = {
    {"LambdaMART", RanklibKind::trees},         {"MART", RanklibKind::trees},
    {"Random Forests", RanklibKind::bags},      {"Linear Regression", RanklibKind::linear_with_constant},
    {"Coordinate Ascent", RanklibKind::linear}, {"AdaRank", RanklibKind::unread},
    {"RankBoost", RanklibKind::unread},         {"RankNet", RanklibKind::unread},
    {"LambdaRank", RanklibKind::unread},        {"ListNet", RanklibKind::unread},
};

std::string_view first_line(std::string_view text) {
  text = trim(text);
  return trim(text.substr(0, text.find('\n')));
}

const RanklibRanker* find_ranklib_ranker(std::string_view head) {
  const std::string_view line = first_line(head);
  if (line.substr(0, 10) == "<ensemble>") return &ranklib_rankers[0];
  if (line.substr(0, 2) != "##") return nullptr;
  const auto* const found =
      std::find_if(std::begin(ranklib_rankers), std::end(ranklib_rankers),
                   [&](const RanklibRanker& ranker) { return ranker.name == trim(line.substr(2)); });
  return found == std::end(ranklib_rankers) ? nullptr : found;
}

bool is_ranklib(std::string_view head) { return find_ranklib_ranker(head) != nullptr; }

RankerModel read_ranklib(const ModelFile& file) {
  const RanklibRanker* ranker = find_ranklib_ranker(file.bytes);
  if (!ranker) fail_at(file, 0, "the first line is no name of a ranker of RankLib's");
  if (ranker->kind == RanklibKind::unread)
    throw InvalidArgument(fmt::format(
        "{}: is a model of RankLib's {}, which Quern does not read; train LambdaMART, MART, Random Forests, Linear "
        "Regression or Coordinate Ascent",
        file.name, ranker->name));
  if (ranker->kind == RanklibKind::trees || ranker->kind == RanklibKind::bags)
    return read_ranklib_trees(file, ranker->kind == RanklibKind::bags);
  return read_ranklib_linear(file, ranker->kind == RanklibKind::linear_with_constant);
}

/// The first line that is neither empty nor a comment, without spaces at its ends; empty if there is none.
std::string_view line_of_weights(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    if (!line.empty() && line.substr(0, 2) != "##") return line.substr(0, line.rfind('#'));
    at = end + 1;
  }
  return {};
}

}  // namespace

void fail_at(const ModelFile& file, std::size_t offset, std::string_view why) {
  const auto line = 1 + std::count(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  throw CorruptFile(fmt::format("{}, line {}: {}", file.name, line, why));
}

RankerModel read_ranklib_linear(const ModelFile& file, bool has_constant) {
  const std::string_view weights = line_of_weights(file.bytes);
  const auto fail = [&](std::string_view why) {
    const char* const place = weights.empty() ? file.bytes.data() + file.bytes.size() : weights.data();
    fail_at(file, static_cast<std::size_t>(place - file.bytes.data()), why);
  };
  FeatureCollector features;
  LinearModel linear;
  bool met_constant = false;
  for (std::size_t at = 0; at < weights.size();) {
    const std::size_t end = std::min(weights.find_first_of(" \t", at), weights.size());
    const std::string_view pair = weights.substr(at, end - at);
    at = end + 1;
    if (pair.empty()) continue;
    const std::size_t colon = std::min(pair.find(':'), pair.size());
    std::uint32_t number = 0;
    double weight = 0;
    if (!read_number(pair.substr(0, colon), number) || number > std::numeric_limits<std::int32_t>::max() ||
        !read_number(pair.substr(std::min(colon + 1, pair.size())), weight) || !std::isfinite(weight))
      fail(fmt::format("'{:.40}' is no feature's number and weight", pair));
    if (number == 0) {
      if (!has_constant || met_constant) fail("has a weight of feature 0, where features begin with 1, or two of them");
      met_constant = true;
      linear.intercept = weight;
    } else {
      linear.terms.push_back({features.by_name(fmt::format("{}", number)), weight});
    }
  }
  if (linear.terms.empty()) fail("has no weights of features");
  if (has_constant && !met_constant) fail("has no constant, which is the weight of feature 0");
  const std::vector<std::uint32_t> places = features.sort();
  for (LinearModel::Term& term : linear.terms) term.feature = places[term.feature];
  return {std::string(ranklib_format().name), features.take(), 0, std::move(linear)};
}

const ModelFormat& ranklib_format() {
  static const ModelFormat format = {"ranklib", "RankLib's LambdaMART, MART, random forests and linear models",
                                     is_ranklib, read_ranklib};
  return format;
}

}  // namespace quern
