#include <fmt/format.h>

#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/rankers/number_text.hpp"
#include "quern/formats/rankers/xgboost_dump.hpp"

namespace quern {
namespace {

class XgboostTextDumpReader {
 public:
  explicit XgboostTextDumpReader(const ModelFile& file) : file_(file), dump_(file.name) {}

  RankerModel read() {
    const std::string_view text = file_.bytes;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      add_line(trim(text.substr(at, end - at)));
      at = end + 1;
    }
    end_tree();
    return dump_.finish(xgboost_text_dump_format().name);
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw CorruptFile(fmt::format("{}, line {}: {}", file_.name, line_, why));
  }
  void end_tree() {
    if (has_nodes_) dump_.end_tree();
    has_nodes_ = false;
  }

  void add_line(std::string_view line) {
    if (line.empty()) return;
    if (line.substr(0, 8) == "booster[") return end_tree();
    XgboostDumpNode node;
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !read_number(line.substr(0, colon), node.id)) fail("is no node of a tree");
    // Lists of trees without headings: each begins with its node 0.
    if (node.id == 0) end_tree();
    line.remove_prefix(colon + 1);
    if (line.substr(0, 5) == "leaf=") {
      node.is_leaf = true;
      if (!read_number(line.substr(5, line.find(',') - 5), node.leaf)) fail("the leaf's value is no number");
    } else {
      read_split(line, node);
    }
    dump_.add(std::move(node));
    has_nodes_ = true;
  }

  /// "[feature<threshold] yes=1,no=2,missing=1" or "[feature:{categories}] …".
  void read_split(std::string_view line, XgboostDumpNode& node) const {
    const std::size_t end = line.find("] ");
    if (line.empty() || line.front() != '[' || end == line.npos) fail("is neither a leaf nor a split");
    const std::string_view split = line.substr(1, end - 1);
    if (const std::size_t below = split.rfind('<'); below != split.npos && split.back() != '}') {
      node.feature = split.substr(0, below);
      node.has_threshold = read_number(split.substr(below + 1), node.threshold);
      if (!node.has_threshold) fail("the threshold is no number");
    } else if (const std::size_t list = split.rfind(":{"); list != split.npos && split.back() == '}') {
      node.feature = split.substr(0, list);
      node.has_categories = true;
      read_categories(split.substr(list + 2, split.size() - list - 3), node);
    }
    line.remove_prefix(end + 2);
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t stop = std::min(line.find(',', at), line.size());
      read_setting(line.substr(at, stop - at), node);
      at = stop + 1;
    }
  }

  void read_categories(std::string_view list, XgboostDumpNode& node) const {
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t stop = std::min(list.find(',', at), list.size());
      std::uint32_t category = 0;
      if (!read_number(list.substr(at, stop - at), category) || category >= 1 << 24)
        fail("a category is no such number");
      node.categories.push_back(category);
      at = stop + 1;
    }
  }

  void read_setting(std::string_view setting, XgboostDumpNode& node) const {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string_view key = setting.substr(0, equals);
    std::int64_t* const to = key == "yes"       ? &node.yes
                             : key == "no"      ? &node.no
                             : key == "missing" ? &node.missing
                                                : nullptr;
    if (to && (equals == setting.size() || !read_number(setting.substr(equals + 1), *to)))
      fail(fmt::format("{} is no number of a node", key));
  }

  const ModelFile& file_;
  XgboostDump dump_;
  std::size_t line_ = 0;
  bool has_nodes_ = false;
};

bool is_xgboost_text_dump(std::string_view head) {
  return head.substr(0, 10) == "booster[0]" || head.substr(0, 3) == "0:[" || head.substr(0, 7) == "0:leaf=";
}

RankerModel read_xgboost_text_dump(const ModelFile& file) { return XgboostTextDumpReader(file).read(); }

}  // namespace

const ModelFormat& xgboost_text_dump_format() {
  static const ModelFormat format = {"xgboost-text-dump", "XGBoost's dumps of trees as text", is_xgboost_text_dump,
                                     read_xgboost_text_dump};
  return format;
}

}  // namespace quern
