#include <algorithm>

#include "quern/text/html_scanner.hpp"
#include "quern/text/packed_name.hpp"

namespace quern {
namespace {

struct KnownTag {
  std::string_view name;
  TagKind kind;
};

constexpr KnownTag known_tags[] = {
    {"a", TagKind::link},         {"area", TagKind::area},        {"base", TagKind::base},
    {"svg", TagKind::picture},    {"title", TagKind::title},      {"iframe", TagKind::raw},
    {"noembed", TagKind::raw},    {"noscript", TagKind::raw},     {"script", TagKind::raw},
    {"style", TagKind::raw},      {"template", TagKind::raw},     {"address", TagKind::block},
    {"article", TagKind::block},  {"aside", TagKind::block},      {"blockquote", TagKind::block},
    {"body", TagKind::block},     {"br", TagKind::block},         {"button", TagKind::block},
    {"caption", TagKind::block},  {"center", TagKind::block},     {"dd", TagKind::block},
    {"details", TagKind::block},  {"dialog", TagKind::block},     {"dir", TagKind::block},
    {"div", TagKind::block},      {"dl", TagKind::block},         {"dt", TagKind::block},
    {"fieldset", TagKind::block}, {"figcaption", TagKind::block}, {"figure", TagKind::block},
    {"footer", TagKind::block},   {"form", TagKind::block},       {"frame", TagKind::block},
    {"frameset", TagKind::block}, {"h1", TagKind::block},         {"h2", TagKind::block},
    {"h3", TagKind::block},       {"h4", TagKind::block},         {"h5", TagKind::block},
    {"h6", TagKind::block},       {"head", TagKind::block},       {"header", TagKind::block},
    {"hr", TagKind::block},       {"html", TagKind::block},       {"input", TagKind::block},
    {"legend", TagKind::block},   {"li", TagKind::block},         {"main", TagKind::block},
    {"menu", TagKind::block},     {"nav", TagKind::block},        {"noframes", TagKind::block},
    {"ol", TagKind::block},       {"optgroup", TagKind::block},   {"option", TagKind::block},
    {"p", TagKind::block},        {"pre", TagKind::block},        {"section", TagKind::block},
    {"select", TagKind::block},   {"summary", TagKind::block},    {"table", TagKind::block},
    {"tbody", TagKind::block},    {"td", TagKind::block},         {"textarea", TagKind::block},
    {"tfoot", TagKind::block},    {"th", TagKind::block},         {"thead", TagKind::block},
    {"tr", TagKind::block},       {"ul", TagKind::block}};

constexpr PackedNameTable<8> table(known_tags);

}  // namespace

TagKind tag_kind(std::string_view name) { return tag_kind(name, packed_name(name)); }

TagKind tag_kind(std::string_view name, std::uint64_t front) {
  // The bit 0x20 is set in all bytes of known names, and makes letters lower-case.
  constexpr std::uint64_t all_lower = 0x2020202020202020u;
  const std::uint64_t key =
      front | (name.size() >= 8 ? all_lower : all_lower & ((std::uint64_t{1} << (8 * name.size())) - 1));
  const std::size_t row = table.find(key);
  if (row == table.none) return TagKind::inline_text;
  const KnownTag& tag = known_tags[row];
  if (tag.name.size() != name.size()) return TagKind::inline_text;
  const auto same = [](char c, char lower) { return (c | 0x20) == lower; };
  const bool ends_alike = name.size() <= 8 || std::equal(name.begin() + 8, name.end(), tag.name.begin() + 8, same);
  return ends_alike ? tag.kind : TagKind::inline_text;
}

}  // namespace quern
