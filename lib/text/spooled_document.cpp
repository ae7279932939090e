#include "quern/text/spooled_document.hpp"

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// Memory kept from one text to the next; larger buffers are freed.
constexpr std::size_t kept_text_bytes = std::size_t{1} << 20;

ByteView bytes_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

}  // namespace

void SpooledText::append_to_spool(std::string_view text) {
  if (text.empty()) return;
  if (!spool_) {
    spool_.emplace(tmp_folder_);
    spool_->append(bytes_of(memory_));
    std::string().swap(memory_);
  }
  spool_->append(bytes_of(text));
  spool_end_ = text.back();
}

void SpooledText::clear() {
  spool_.reset();
  memory_.clear();
  if (memory_.capacity() > kept_text_bytes) memory_.shrink_to_fit();
}

std::unique_ptr<PieceSource> SpooledText::pieces() const {
  if (spool_) return std::make_unique<SpoolPieces>(*spool_);
  return std::make_unique<ViewPieces>(memory_);
}

std::string SpooledText::str() const {
  std::string whole;
  const auto source = pieces();
  for (std::string_view piece = source->next(); !piece.empty(); piece = source->next()) whole += piece;
  return whole;
}

std::uint64_t SpooledLinks::append(std::string_view url) {
  record_.clear();
  put_string(record_, url);
  urls_.append(record_);
  return count_++;
}

std::uint64_t SpooledLinks::append(std::string_view url, std::string_view anchor) {
  const std::uint64_t link = append(url);
  set_anchor(link, anchor);
  return link;
}

void SpooledLinks::set_anchor(std::uint64_t link, std::string_view anchor) {
  if (anchor.empty()) return;
  record_.clear();
  put_varint(record_, link - next_anchor_);
  put_string(record_, anchor);
  anchors_.append(record_);
  next_anchor_ = link + 1;
  ++anchor_count_;
}

void SpooledLinks::clear() {
  urls_.clear();
  anchors_.clear();
  count_ = anchor_count_ = next_anchor_ = 0;
}

SpooledLinks::Reader::Reader(const SpooledLinks& links)
    : urls(links.urls_, 0, links.urls_.size()),
      anchors(links.anchors_, 0, links.anchors_.size()),
      urls_left(links.count_),
      anchors_left(links.anchor_count_) {
  if (anchors_left > 0) until_anchor = anchors.varint();
}

bool SpooledLinks::Reader::next() {
  if (urls_left == 0) return false;
  --urls_left;
  urls.string(url);
  anchor.clear();
  if (anchors_left == 0 || until_anchor-- > 0) return true;
  anchors.string(anchor);
  if (--anchors_left > 0) until_anchor = anchors.varint();
  return true;
}

std::vector<Link> SpooledLinks::all() const {
  std::vector<Link> links;
  for_each([&](std::string_view url, std::string_view anchor) {
    links.push_back({std::string(url), std::string(anchor)});
  });
  return links;
}

void SpooledWeights::append(std::string_view term, std::uint32_t weight) {
  record_.clear();
  put_string(record_, term);
  put_varint(record_, weight);
  bytes_.append(record_);
  ++count_;
}

void SpooledWeights::clear() {
  bytes_.clear();
  count_ = 0;
}

}  // namespace quern
