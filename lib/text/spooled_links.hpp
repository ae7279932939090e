#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/io/spool.hpp"

namespace quern {

/// A link out of a document: its target, absolute, as written but resolved, and the text it is clicked on.
struct Link {
  std::string url;
  std::string anchor;
  bool operator==(const Link&) const = default;
};

/// The links of a document in their order, in a work file where they are many. A link's text may come after links that
/// follow it. Throws IoError if the work file can't be created, written or read.
class SpooledLinks {
 public:
  explicit SpooledLinks(const std::string& tmp_folder = ".") : urls_(tmp_folder), anchors_(tmp_folder) {}

  /// Adds a link without a text, and gives its number: 0 is the first one's.
  std::uint64_t append(std::string_view url);
  /// Adds a link.
  std::uint64_t append(std::string_view url, std::string_view anchor);
  /// Sets a link's text, once: that of a later link than all whose text is set already.
  void set_anchor(std::uint64_t link, std::string_view anchor);

  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear();

  /// Calls visit(std::string_view url, std::string_view anchor) for each link; the views are valid until it returns.
  template <class Visit>
  void for_each(Visit&& visit) const {
    Reader reader(*this);
    while (reader.next()) visit(std::string_view(reader.url), std::string_view(reader.anchor));
  }
  /// All links, in memory.
  std::vector<Link> all() const;

 private:
  struct Reader {
    explicit Reader(const SpooledLinks& links);
    bool next();

    std::string url, anchor;
    SpoolReader urls, anchors;
    std::uint64_t urls_left, anchors_left;
    std::uint64_t until_anchor = 0;  ///< links before the next one that has a text
  };

  Spool urls_;     ///< of each link: size, bytes
  Spool anchors_;  ///< of each link with a text: how many links lie between it and the one before, size, bytes
  Bytes record_;   ///< what is being appended to one of them
  std::uint64_t count_ = 0, anchor_count_ = 0;
  std::uint64_t next_anchor_ = 0;  ///< the first link whose text may still be set
};

}  // namespace quern
