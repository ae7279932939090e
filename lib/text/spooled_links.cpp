#include "quern/text/spooled_links.hpp"

#include "quern/core/bytes.hpp"

namespace quern {

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

}  // namespace quern
