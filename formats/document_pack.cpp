#include "quern/formats/document_pack.hpp"

namespace quern {

void DocumentPack::clear() {
  docno_hashes_.clear();
  docnos_.clear();
  texts_.clear();
  text_block_.clear();
  docno_offsets_.clear();
  text_offsets_.clear();
}

void DocumentPack::add(std::string_view docno, std::string_view url, std::string_view title) {
  if (size() % docnos_per_block == 0) docno_offsets_.push_back(docnos_.size());
  docno_hashes_.push_back(docno_hash(docno));
  put_string(docnos_, docno);
  put_string(text_block_, url);
  put_string(text_block_, title);
  if (size() % texts_per_block == 0) put_text_block();
}

void DocumentPack::end() {
  if (!text_block_.empty()) put_text_block();
}

void DocumentPack::put_text_block() {
  text_offsets_.push_back(texts_.size());
  put_varint(texts_, text_block_.size());
  zstd_.append(text_block_, texts_);
  text_block_.clear();
}

}  // namespace quern
