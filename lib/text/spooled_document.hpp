#pragma once
#include "quern/io/piece_source.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// A text that is written once and read sequentially. It is kept in memory while small, otherwise in a work file.
/// Throws IoError if the work file can't be created, written or read.
class SpooledText {
 public:
  /// Larger texts go to a work file.
  static constexpr std::size_t default_memory_bytes = std::size_t{4} << 20;

  explicit SpooledText(std::string tmp_folder = ".", std::size_t memory_bytes = default_memory_bytes)
      : tmp_folder_(std::move(tmp_folder)), memory_bytes_(memory_bytes) {}

  void append(std::string_view text) {
    if (spool_ || text.size() > memory_bytes_ - memory_.size())
      append_to_spool(text);
    else
      memory_.append(text);
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
  /// Empties the text. Keeps a typical text's memory for the next one.
  void clear();

  /// The text as a source. It must outlive the source and not change.
  std::unique_ptr<PieceSource> pieces() const;
  /// The whole text, in memory.
  std::string str() const;

 private:
  void append_to_spool(std::string_view text);

  std::string tmp_folder_;
  std::size_t memory_bytes_;
  std::string memory_;          ///< the text, while small
  std::optional<Spool> spool_;  ///< the text, once too large for memory
  char spool_end_ = '\0';       ///< the spool's last byte
};

/// A link out of a document: its target, resolved but otherwise as written, and its text.
struct Link {
  std::string url;
  std::string anchor;
  bool operator==(const Link&) const = default;
};

/// The links of a document in order, in a work file if there are many. A link's text may be set after later links were
/// added. Throws IoError if the work file can't be created, written or read.
class SpooledLinks {
 public:
  explicit SpooledLinks(const std::string& tmp_folder = ".") : urls_(tmp_folder), anchors_(tmp_folder) {}

  /// Adds a link without a text and returns its index, from 0.
  std::uint64_t append(std::string_view url);
  /// Adds a link with its text.
  std::uint64_t append(std::string_view url, std::string_view anchor);
  /// Sets a link's text, once; links must get their texts in increasing order.
  void set_anchor(std::uint64_t link, std::string_view anchor);

  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear();

  /// Calls visit(std::string_view url, std::string_view anchor) for each link; the views are valid during the call.
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
    std::uint64_t until_anchor = 0;  ///< links until the next one with a text
  };

  Spool urls_;     ///< of each link: size, bytes
  Spool anchors_;  ///< of each link with a text: links since the previous one, size, bytes
  Bytes record_;   ///< the record being appended to either
  std::uint64_t count_ = 0, anchor_count_ = 0;
  std::uint64_t next_anchor_ = 0;  ///< the first link whose text may still be set
};

/// The terms and weights of a document whose corpus supplies them, in order, in a work file if there are many. Throws
/// IoError if the work file can't be created, written or read.
class SpooledWeights {
 public:
  explicit SpooledWeights(const std::string& tmp_folder = ".") : bytes_(tmp_folder) {}

  void append(std::string_view term, std::uint32_t weight);
  std::uint64_t count() const { return count_; }
  void clear();

  /// Calls visit(std::string_view term, std::uint32_t weight) for each; the view is valid during the call.
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
  Bytes record_;  ///< the record being appended
  std::uint64_t count_ = 0;
};

}  // namespace quern
