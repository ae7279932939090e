#include "quern/corpus/page_chooser.hpp"

#include <algorithm>

namespace quern {
namespace {

/// A page's metadata is among so many records behind it. Common Crawl's is the next one.
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

}  // namespace quern
