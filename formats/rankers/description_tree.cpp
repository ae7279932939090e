#include "quern/formats/rankers/description_tree.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quern/core/ascii_text.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/number_text.hpp"

namespace quern {
namespace {

/// tree: number | ( tree ) | feature <= number ? tree : tree | feature <= number or missing ? tree : tree
class DescriptionTreeReader {
 public:
  DescriptionTreeReader(std::string_view text, const std::string& place, TreeCollector& trees)
      : text_(text), place_(place), trees_(trees) {}

  void read() {
    for (bool is_complete = false; !is_complete;) {
      begin_part();
      is_complete = end_parts();
    }
    if (!next().empty()) fail(fmt::format("'{:.40}' follows the tree", token_));
    trees_.add(loose_);
  }

 private:
  enum class Waits : std::uint8_t { closing, left, right };
  /// What waits for the tree that is read: a parenthesis, or a node for one of its parts.
  struct Open {
    Waits waits;
    std::size_t node;
  };

  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile(fmt::format("{}: {}", place_, why)); }

  /// Goes on to the next token; it is empty at the end.
  std::string_view next() {
    text_ = trim(text_);
    std::size_t size = 0;
    if (text_.substr(0, 2) == "<=") {
      size = 2;
    } else if (!text_.empty() && is_mark(text_.front())) {
      size = 1;
    } else {
      while (size < text_.size() && !is_ascii_space(text_[size]) && !is_mark(text_[size]) && text_[size] != '<') ++size;
    }
    if (size == 0 && !text_.empty()) fail("has a '<' that is no '<='");
    token_ = text_.substr(0, size);
    text_.remove_prefix(size);
    return token_;
  }
  static bool is_mark(char c) { return c == '(' || c == ')' || c == '?' || c == ':'; }
  void expect(std::string_view token) {
    if (next() != token) fail(fmt::format("'{:.40}' is where '{}' should be", token_, token));
  }

  /// Reads up to the first leaf.
  void begin_part() {
    for (;;) {
      const std::string_view token = next();
      if (token == "(") {
        open_.push_back({Waits::closing, 0});
        continue;
      }
      if (token.empty() || is_mark(token.front())) fail("a tree is a number, or 'feature <= number ? tree : tree'");
      done_ = loose_.nodes.size();
      loose_.nodes.emplace_back();
      if (trim(text_).substr(0, 2) != "<=") {
        float leaf = 0;
        if (!read_number(token, leaf) || !std::isfinite(leaf)) fail(fmt::format("'{:.40}' is no finite number", token));
        loose_.nodes[done_].leaf = leaf;
        return;
      }
      read_condition(token);
    }
  }

  void read_condition(std::string_view feature) {
    LooseTree::Node& node = loose_.nodes[done_];
    node.input = trees_.input(trees_.features().by_name(feature), TreeInputKind::value);
    expect("<=");
    double threshold = 0;
    if (!read_number(next(), threshold) || std::isnan(threshold)) fail(fmt::format("'{:.40}' is no number", token_));
    node.threshold = greatest_float_up_to(threshold);
    if (next() == "or") {
      expect("missing");
      node.missing_left = true;
      next();
    }
    if (token_ != "?") fail(fmt::format("'{:.40}' is where '?' should be", token_));
    open_.push_back({Waits::left, done_});
  }

  /// Ends what the tree that was just read completes. True if nothing waits any more.
  bool end_parts() {
    while (!open_.empty()) {
      Open& open = open_.back();
      if (open.waits == Waits::left) {
        expect(":");
        loose_.nodes[open.node].left = static_cast<std::int64_t>(done_);
        open.waits = Waits::right;
        return false;
      }
      if (open.waits == Waits::right) {
        loose_.nodes[open.node].right = static_cast<std::int64_t>(done_);
        done_ = open.node;
      } else {
        expect(")");
      }
      open_.pop_back();
    }
    return true;
  }

  std::string_view text_, token_;
  const std::string& place_;
  TreeCollector& trees_;
  LooseTree loose_;
  std::vector<Open> open_;
  std::size_t done_ = 0;  ///< the node of the tree that was read last
};

}  // namespace

void add_description_tree(std::string_view text, const std::string& place, TreeCollector& trees) {
  DescriptionTreeReader(text, place, trees).read();
}

}  // namespace quern
