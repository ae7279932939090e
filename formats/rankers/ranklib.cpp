#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {
namespace {

/// Throws CorruptFile with the line that contains the byte at `offset` of a file.
[[noreturn]] void fail_at(const ModelFile& file, std::size_t offset, std::string_view why) {
  const auto line = 1 + std::count(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  throw CorruptFile("{}, line {}: {}", file.name, line, why);
}

enum class RanklibKind : std::uint8_t { trees, bags, linear, linear_with_constant, unread };

/// A ranker's name after "## " in the first line of RankLib's models.
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

/// The first line that is neither empty nor a comment, trimmed; empty if there is none.
std::string_view line_of_weights(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trim(take_until(text, '\n'));
    if (!line.empty() && line.substr(0, 2) != "##") return line.substr(0, line.rfind('#'));
  }
  return {};
}

/// A tag of RankLib's XML, which has only tree elements and no entities.
struct RanklibTag {
  std::string_view name, attributes;
  bool closes = false;
  std::size_t begin = 0;
};

class RanklibTreeReader {
 public:
  RanklibTreeReader(const ModelFile& file, bool averages) : file_(file), averages_(averages), trees_(file.name) {}

  RankerModel read() {
    for (RanklibTag tag; next_tag(tag);) {
      tag_at_ = tag.begin;
      tag.closes ? close(tag) : open(tag);
    }
    TreeEnsemble& trees = trees_.trees();
    if (in_ensemble_) fail("ends within an ensemble");
    if (trees.trees() == 0) fail("has no trees");
    trees.sum = TreeSum::float32;
    if (averages_) trees.group_ends = std::move(ends_);
    RankerModel model = trees_.finish(ranklib_format.name);
    model.first_number = 1;
    return model;
  }

 private:
  /// An open split.
  struct Split {
    std::size_t number = 0;  ///< in loose_
    bool has_feature = false, has_threshold = false, has_output = false;
  };

  [[noreturn]] void fail(std::string_view why) const {
    fail_at(file_, std::min(tag_at_, file_.bytes.size()), fmt::format("tree {}: {}", trees_.trees().trees(), why));
  }

  /// Moves to the next tag. Only spaces and comments may separate tags, except in elements with a number.
  bool next_tag(RanklibTag& tag) {
    const std::string_view text = file_.bytes;
    for (;;) {
      while (at_ < text.size() && is_ascii_space(text[at_])) ++at_;
      tag_at_ = at_;
      if (at_ == text.size()) return false;
      if (text[at_] == '#')
        at_ = std::min(text.find('\n', at_), text.size());
      else if (text.substr(at_, 4) == "<!--")
        skip_past("-->");
      else if (text.substr(at_, 2) == "<?")
        skip_past("?>");
      else if (text[at_] == '<')
        break;
      else
        fail("has text between its elements");
    }
    tag.begin = at_;
    const std::size_t end = text.find('>', at_);
    if (end == text.npos) fail("a tag is not closed");
    std::string_view inside = trim(text.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    tag.closes = inside.substr(0, 1) == "/";
    if (tag.closes) inside = trim(inside.substr(1));
    const std::size_t name = std::min(inside.find_first_of(" \t\r\n"), inside.size());
    tag.name = inside.substr(0, name);
    tag.attributes = trim(inside.substr(name));
    return true;
  }

  void skip_past(std::string_view end) {
    const std::size_t found = file_.bytes.find(end, at_);
    if (found == file_.bytes.npos) fail("a comment is not closed");
    at_ = found + end.size();
  }

  void open(const RanklibTag& tag) {
    if (tag.name == "ensemble") return open_ensemble();
    if (!in_ensemble_) fail(fmt::format("<{:.20}> is outside of an ensemble", tag.name));
    if (tag.name == "tree") return open_tree(tag);
    if (!in_tree_) fail(fmt::format("<{:.20}> is outside of a tree", tag.name));
    if (tag.name == "split") return open_split();
    if (splits_.empty()) fail(fmt::format("<{:.20}> is outside of a split", tag.name));
    if (tag.name == "feature")
      read_feature();
    else if (tag.name == "threshold")
      read_threshold();
    else if (tag.name == "output")
      read_output();
    else
      fail(fmt::format("<{:.20}> is not an element of RankLib's trees", tag.name));
  }

  void close(const RanklibTag& tag) {
    if (tag.name == "split" && !splits_.empty()) return close_split();
    if (tag.name == "tree" && in_tree_ && splits_.empty()) {
      if (loose_.nodes.empty()) fail("has no splits");
      trees_.add(loose_);
      in_tree_ = false;
    } else if (tag.name == "ensemble" && in_ensemble_ && !in_tree_) {
      in_ensemble_ = false;
      ends_.push_back(trees_.trees().trees());
    } else {
      fail(fmt::format("</{:.20}> has no start tag", tag.name));
    }
  }

  void open_ensemble() {
    if (in_ensemble_) fail("has nested ensembles");
    if (!averages_ && !ends_.empty())
      fail("has a second ensemble, which only random forests ('## Random Forests' in the first line) may have");
    in_ensemble_ = true;
  }

  void open_tree(const RanklibTag& tag) {
    if (in_tree_) fail("has nested trees");
    in_tree_ = true;
    loose_.nodes.clear();
    weight_ = 0;
    const std::size_t found = tag.attributes.find("weight=");
    const std::string_view quoted = found == tag.attributes.npos ? "" : tag.attributes.substr(found + 7);
    const char quote = quoted.empty() ? '\0' : quoted[0];
    const std::size_t end = quote == '"' || quote == '\'' ? quoted.find(quote, 1) : quoted.npos;
    if (end == quoted.npos || !read_number(trim(quoted.substr(1, end - 1)), weight_) || !std::isfinite(weight_))
      fail("has no weight, or one that is not a finite number");
  }

  void open_split() {
    if (splits_.empty() && !loose_.nodes.empty()) fail("has two roots");
    if (!splits_.empty()) {
      const Split& parent = splits_.back();
      if (!parent.has_feature || !parent.has_threshold)
        fail("a split's children come before its feature and threshold");
      LooseTree::Node& node = loose_.nodes[parent.number];
      if (node.right != -1) fail("a split has more than two children");
      (node.left == -1 ? node.left : node.right) = static_cast<std::int64_t>(loose_.nodes.size());
    }
    splits_.push_back({loose_.nodes.size()});
    loose_.nodes.emplace_back();
  }

  void close_split() {
    const Split& split = splits_.back();
    const LooseTree::Node& node = loose_.nodes[split.number];
    const bool is_inner = split.has_feature && split.has_threshold && node.right != -1;
    if (split.has_output ? split.has_feature || split.has_threshold : !is_inner)
      fail("a split needs either an output, or a feature, a threshold and two children");
    splits_.pop_back();
  }

  /// The text of an element without child elements.
  std::string_view element_text(std::string_view name) {
    const std::size_t end = file_.bytes.find('<', at_);
    if (end == file_.bytes.npos) fail(fmt::format("{} is not closed", name));
    const std::string_view text = trim(file_.bytes.substr(at_, end - at_));
    at_ = end;
    RanklibTag tag;
    if (!next_tag(tag) || !tag.closes || tag.name != name) fail(fmt::format("{} is not closed", name));
    return text;
  }

  void read_feature() {
    const std::string_view text = element_text("feature");
    std::uint32_t number = 0;
    Split& split = splits_.back();
    if (split.has_feature || !read_number(text, number) || number == 0 || number > max_feature)
      fail(fmt::format("'{:.40}' is not a feature number, or the split has a second one", text));
    split.has_feature = true;
    const std::uint32_t feature = trees_.features().by_name(fmt::format("{}", number));
    // RankLib treats missing values as 0.
    loose_.nodes[split.number].input = trees_.input(feature, TreeInputKind::nan_is_zero);
  }

  void read_threshold() {
    const std::string_view text = element_text("threshold");
    Split& split = splits_.back();
    float& threshold = loose_.nodes[split.number].threshold;
    if (split.has_threshold || !read_number(text, threshold) || std::isnan(threshold))
      fail(fmt::format("'{:.40}' is not a threshold, or the split has a second one", text));
    split.has_threshold = true;
  }

  void read_output() {
    const std::string_view text = element_text("output");
    Split& split = splits_.back();
    float output = 0;
    if (split.has_output || !read_number(text, output) || !std::isfinite(output))
      fail(fmt::format("'{:.40}' is not a finite output, or the split has a second one", text));
    split.has_output = true;
    // RankLib also multiplies two float32 in double, which is exact.
    loose_.nodes[split.number].leaf = static_cast<double>(output) * static_cast<double>(weight_);
  }

  static constexpr std::uint32_t max_feature = std::numeric_limits<std::int32_t>::max();

  const ModelFile& file_;
  bool averages_;
  std::size_t at_ = 0, tag_at_ = 0;
  bool in_ensemble_ = false, in_tree_ = false;
  float weight_ = 0;
  std::vector<Split> splits_;  ///< path from the root to the current split
  LooseTree loose_;
  std::vector<std::uint64_t> ends_;  ///< of ensembles
  TreeCollector trees_;
};

/// Reads "1:0.5 2:0.25"; with a constant "0:1.5" if `has_constant`.
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
      fail(fmt::format("'{:.40}' is not a feature number with a weight", pair));
    if (number == 0) {
      if (!has_constant || met_constant)
        fail("has a weight for feature 0, although features are numbered from 1, or has that weight twice");
      met_constant = true;
      linear.intercept = weight;
    } else {
      linear.terms.push_back({features.by_name(fmt::format("{}", number)), weight});
    }
  }
  if (linear.terms.empty()) fail("has no weights of features");
  if (has_constant && !met_constant) fail("has no constant (the weight of feature 0)");
  const std::vector<std::uint32_t> places = features.sort();
  for (LinearModel::Term& term : linear.terms) term.feature = places[term.feature];
  return {std::string(ranklib_format.name), features.take(), 0, std::move(linear), 1};
}

RankerModel read_ranklib(const ModelFile& file) {
  const RanklibRanker* ranker = find_ranklib_ranker(file.bytes);
  if (!ranker) fail_at(file, 0, "the first line is not the name of a RankLib ranker");
  if (ranker->kind == RanklibKind::unread)
    throw InvalidArgument(
        "{}: is a RankLib model of the kind {}, which Quern can't read; train LambdaMART, MART, Random Forests, Linear "
        "Regression or Coordinate Ascent",
        file.name, ranker->name);
  if (ranker->kind == RanklibKind::trees || ranker->kind == RanklibKind::bags)
    return RanklibTreeReader(file, ranker->kind == RanklibKind::bags).read();
  return read_ranklib_linear(file, ranker->kind == RanklibKind::linear_with_constant);
}

}  // namespace

const ModelFormat ranklib_format = {"ranklib", "RankLib's LambdaMART, MART, random forests and linear models",
                                    is_ranklib, read_ranklib};

}  // namespace quern
