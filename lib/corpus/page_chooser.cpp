#include "quern/corpus/page_chooser.hpp"

namespace quern {
namespace {

/// A page's metadata is at most this many records after it. In Common Crawl's files it is the next one.
constexpr std::size_t max_distance = 3;

}  // namespace

void PageChooser::read_labels(const RecordBatch& batch, const RecordBatch* next) {
  labels_.clear();
  for (const RecordSpan& record : batch.records) labels_.push_back(record.format->labels(batch.text(record)));
  if (next == nullptr || choice_.languages.empty()) return;
  for (std::size_t i = 0; i < std::min(max_distance, next->records.size()); ++i)
    labels_.push_back(next->records[i].format->labels(next->text(next->records[i])));
}

const std::string& PageChooser::language_of(std::size_t page) const {
  const RecordLabels& labels = labels_[page];
  if (!labels.language.empty() || labels.id == Hash128()) return labels.language;
  for (std::size_t i = page + 1; i < std::min(labels_.size(), page + 1 + max_distance); ++i)
    if (labels_[i].describes == labels.id) return labels_[i].language;
  return labels.language;
}

LeftOut PageChooser::by_language(std::size_t page) const {
  if (choice_.languages.empty()) return LeftOut::no;
  const std::string& language = language_of(page);
  if (language.empty()) return LeftOut::no_language;
  const bool is_chosen = std::binary_search(choice_.languages.begin(), choice_.languages.end(), language);
  return is_chosen ? LeftOut::no : LeftOut::other_language;
}

bool PageChooser::choose(RecordBatch& batch, const RecordBatch* next) {
  read_labels(batch, next);
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    if (!labels_[i].may_be_document) continue;
    LeftOut& left_out = batch.records[i].left_out = by_language(i);
    if (left_out != LeftOut::no || !choice_.drop_copies || labels_[i].payload == Hash128()) continue;
    const DigestSet::Added added = payloads_.add(labels_[i].payload);
    if (added == DigestSet::Added::no_room) return false;
    if (added == DigestSet::Added::was_there) left_out = LeftOut::copy;
  }
  return true;
}

DigestSet::DigestSet(std::uint64_t max_bytes) : left_bytes_(max_bytes) {}

/// The slot of a place, or a free slot. There must be one.
DigestSet::Place* DigestSet::find(std::vector<Place>& places, const Place& sought) {
  std::size_t at = std::uint64_t{sought.words[0]} * places.size() >> 32;
  while (places[at].words[2] != 0 && !(places[at] == sought)) at = at + 1 == places.size() ? 0 : at + 1;
  return &places[at];
}

bool DigestSet::grow(Table& table) {
  constexpr std::size_t min_places = 16;
  const std::size_t size = std::max(min_places, table.places.size() + table.places.size() / 4);
  if (size * sizeof(Place) > left_bytes_) return false;
  std::vector<Place> places(size);
  for (const Place& place : table.places)
    if (place.words[2] != 0) *find(places, place) = place;
  left_bytes_ -= (size - table.places.size()) * sizeof(Place);
  table.places = std::move(places);
  return true;
}

DigestSet::Added DigestSet::add(const Hash128& digest) {
  Table& table = tables_[digest.high % tables_.size()];
  const Place place{{static_cast<std::uint32_t>(digest.low), static_cast<std::uint32_t>(digest.low >> 32),
                     static_cast<std::uint32_t>(digest.high >> 32) | 1}};
  if (!table.places.empty() && *find(table.places, place) == place) return Added::was_there;
  if ((table.used + 1) * 8 > table.places.size() * 7 && !grow(table)) return Added::no_room;
  *find(table.places, place) = place;
  ++table.used;
  ++count_;
  return Added::yes;
}

}  // namespace quern
