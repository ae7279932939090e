#include <algorithm>
#include <array>
#include <iterator>

#include "quern/text/html_filter.hpp"

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

constexpr std::size_t table_bits = 8;

/// A name's first eight bytes as a number: all of it but for two long names.
constexpr std::uint64_t packed(std::string_view name) {
  std::uint64_t bytes = 0;
  for (const char c : name.substr(0, 8)) bytes = bytes << 8 | static_cast<unsigned char>(c);
  return bytes;
}

constexpr std::size_t slot_of(std::uint64_t bytes) {
  return static_cast<std::size_t>(bytes * 0x9E3779B97F4A7C15u >> (64 - table_bits));
}

/// Open addressing: a name is in its slot or in the next free one after it.
struct TagTable {
  std::array<std::uint64_t, std::size_t{1} << table_bits> keys{};
  std::array<std::uint8_t, std::size_t{1} << table_bits> tags{};

  constexpr TagTable() {
    for (std::size_t i = 0; i < std::size(known_tags); ++i) {
      const std::uint64_t key = packed(known_tags[i].name);
      std::size_t slot = slot_of(key);
      while (keys[slot] != 0) slot = next(slot);
      keys[slot] = key;
      tags[slot] = static_cast<std::uint8_t>(i);
    }
  }
  static constexpr std::size_t next(std::size_t slot) { return (slot + 1) % (std::size_t{1} << table_bits); }
};
constexpr TagTable table;

}  // namespace

TagKind tag_kind(std::string_view name) {
  std::uint64_t key = 0;
  // The bit 0x20 is set in all bytes of known names, and makes letters lower-case.
  for (const char c : name.substr(0, 8)) key = key << 8 | static_cast<unsigned char>(c | 0x20);
  for (std::size_t slot = slot_of(key); table.keys[slot] != 0; slot = TagTable::next(slot)) {
    const KnownTag& tag = known_tags[table.tags[slot]];
    if (table.keys[slot] == key && tag.name.size() == name.size()) {
      const auto same = [](char c, char lower) { return (c | 0x20) == lower; };
      if (std::equal(name.begin(), name.end(), tag.name.begin(), same)) return tag.kind;
    }
  }
  return TagKind::inline_text;
}

}  // namespace quern
