#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/io/piece_source.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// A text that is appended to once and read from front to back. It lies in memory while it is small, and in a work file
/// once it is not. Throws IoError if the work file can't be created, written or read.
class SpooledText {
 public:
  /// Texts of more bytes than this go to a work file.
  static constexpr std::size_t default_memory_bytes = std::size_t{4} << 20;

  explicit SpooledText(std::string tmp_folder = ".", std::size_t memory_bytes = default_memory_bytes)
      : tmp_folder_(std::move(tmp_folder)), memory_bytes_(memory_bytes) {}

  void append(std::string_view text) {
    if (spool_ || text.size() > memory_bytes_ - memory_.size()) {
      append_to_spool(text);
    } else {
      memory_.append(text);
    }
  }
  SpooledText& operator+=(std::string_view text) {
    append(text);
    return *this;
  }
  SpooledText& operator+=(char c) { return *this += std::string_view(&c, 1); }

  std::uint64_t size() const { return spool_ ? spool_->size() : memory_.size(); }
  bool empty() const { return size() == 0; }
  /// The last byte; the text must not be empty.
  char back() const { return spool_ ? spool_end_ : memory_.back(); }
  /// Empties the text. Memory is kept for the next one, but not much more than most texts need.
  void clear();

  /// The text from its front. The text must outlive the source and stay as it is.
  std::unique_ptr<PieceSource> pieces() const;
  /// The whole text, in memory.
  std::string str() const;

 private:
  void append_to_spool(std::string_view text);

  std::string tmp_folder_;
  std::size_t memory_bytes_;
  std::string memory_;          ///< the text, where there is no spool
  std::optional<Spool> spool_;  ///< the text, where it is too large for memory
  char spool_end_ = '\0';       ///< the spool's last byte
};

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

/// The terms of a document whose weights the corpus gives, in their order, in a work file where they are many. Throws
/// IoError if the work file can't be created, written or read.
class SpooledWeights {
 public:
  explicit SpooledWeights(const std::string& tmp_folder = ".") : bytes_(tmp_folder) {}

  void append(std::string_view term, std::uint32_t weight);
  std::uint64_t count() const { return count_; }
  void clear();

  /// Calls visit(std::string_view term, std::uint32_t weight) for each; the view is valid until it returns.
  template <class Visit>
  void for_each(Visit&& visit) const {
    SpoolReader reader(bytes_, 0, bytes_.size());
    std::string term;
    for (std::uint64_t i = 0; i < count_; ++i) {
      reader.string(term);
      visit(std::string_view(term), static_cast<std::uint32_t>(reader.varint()));
    }
  }

 private:
  Spool bytes_;   ///< of each term: size, bytes, weight
  Bytes record_;  ///< what is being appended
  std::uint64_t count_ = 0;
};

}  // namespace quern
