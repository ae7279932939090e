#include "quern/formats/index_writer.hpp"

#include "quern/codec/short_list.hpp"

namespace quern {

std::uint16_t quantize_up(float impact) {
  // Exact: impacts are in (0, 1], and multiplying by a power of two is exact.
  const auto steps = static_cast<std::int32_t>(std::ceil(impact * 0x1p16f));
  return static_cast<std::uint16_t>(std::clamp(steps, 1, 65536) - 1);
}

std::uint16_t quantize_down(float impact) {
  const auto steps = static_cast<std::int32_t>(std::floor(impact * 0x1p16f));
  return static_cast<std::uint16_t>(std::clamp(steps, 0, 65535));
}

std::uint64_t docno_hash(std::string_view docno) { return xxh3(as_bytes(docno)); }

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

void fail_for_long_list() { throw InvalidArgument("a posting list exceeds 16 GiB; split the corpus into shards"); }

IndexWriter::IndexWriter(File& file, const std::string& tmp_folder, bool with_impacts)
    : with_impacts_(with_impacts),
      out_(file, FileKind::index),
      lexicon_(tmp_folder),
      block_last_(tmp_folder),
      block_offset_(tmp_folder),
      block_max_(tmp_folder),
      texts_(tmp_folder),
      impact_start_(tmp_folder),
      docno_offsets_(tmp_folder),
      text_offsets_(tmp_folder),
      impact_width_(tmp_folder),
      dictionary_([this](ByteView bytes) { lexicon_.append(bytes); }, tmp_folder) {
  out_.begin_section("postings");
  list_sections_.postings = out_.position();
}

void IndexWriter::add_head(std::string_view term, const EncodedList& list, std::uint64_t words, std::uint64_t rows) {
  payload_.clear();
  if (dictionary_.at_block_start()) {
    put_varint(payload_, words_);
    put_varint(payload_, rows_);
    if (with_impacts_) put_varint(payload_, long_lists_);
  }
  put_varint(payload_, list.df);
  put_varint(payload_, list.cf - list.df);
  if (list.whole) {
    put_varint(payload_, list.whole->df - list.df);
    put_varint(payload_, list.whole->cf - list.cf);
  }
  if (list.df <= max_short_list) {
    payload_.insert(payload_.end(), list.short_list.begin(), list.short_list.end());
    ++short_lists_;
    short_list_bytes_ += list.short_list.size();
  } else {
    put_varint(payload_, words);
    const std::size_t before = payload_.size();
    put_ranked_impacts(payload_, list.kth_impact, list.df);
    list_bound_bytes_ += payload_.size() - before;
    ++long_lists_;
  }
  words_ += words;
  rows_ += rows;
  dictionary_.add(term, payload_);
}

void IndexWriter::add_list(std::string_view term, const EncodedList& list) {
  add_rows(list);
  add_head(term, list, list.words.size(), list.block_last.size());
}

void IndexWriter::add_rows(const EncodedList& list) {
  out_.write_array(list.words);
  block_last_.append_array(list.block_last);
  block_offset_.append_array(list.block_offset);
  block_max_.append_array(list.block_max);
}

void IndexWriter::add_part(const EncodedList& part) {
  if (part_words_ + part.words.size() > 0xffffffffu) fail_for_long_list();
  part_offsets_.assign(part.block_offset.begin(), part.block_offset.end());
  for (std::uint32_t& offset : part_offsets_) offset += static_cast<std::uint32_t>(part_words_);
  EncodedList in_list = part;
  in_list.block_offset = part_offsets_;
  add_rows(in_list);
  part_words_ += part.words.size();
  part_rows_ += part.block_last.size();
}

void IndexWriter::end_parts(std::string_view term, const EncodedList& list) {
  add_head(term, list, std::exchange(part_words_, 0), std::exchange(part_rows_, 0));
}

void IndexWriter::add_list(std::string_view term, const EncodedList& list, const SpooledListParts& parts) {
  parts.words.bytes().for_each_piece([&](ByteView piece) { out_.write(piece); });
  parts.block_last.bytes().for_each_piece([&](ByteView piece) { block_last_.append(piece); });
  parts.block_offset.bytes().for_each_piece([&](ByteView piece) { block_offset_.append(piece); });
  parts.block_max.bytes().for_each_piece([&](ByteView piece) { block_max_.append(piece); });
  add_head(term, list, parts.words.count(), parts.block_last.count());
}

void IndexWriter::end_lists() {
  out_.write(Bytes(over_read_bytes, 0));
  out_.end_section();
  const Spool& lexicon_offsets = dictionary_.finish();
  out_.add_section("lexicon", lexicon_);
  out_.add_section("lexicon_blocks", lexicon_offsets);
  out_.add_section("block_last", block_last_);
  list_sections_.block_last = out_.position() - block_last_.size();
  out_.add_section("block_offset", block_offset_);
  list_sections_.block_offset = out_.position() - block_offset_.size();
  out_.add_section("block_max", block_max_);
  out_.flush();
  if (with_impacts_) out_.begin_section("impacts");
}

void IndexWriter::begin_impacts(unsigned width) {
  impact_start_.add(out_.section_size() / sizeof(std::uint32_t));
  impact_width_.add(static_cast<std::uint8_t>(width));
}

void IndexWriter::end_impacts() {
  if (with_impacts_) {
    out_.write(Bytes(over_read_bytes, 0));
    out_.end_section();
    out_.add_section("impact_start", impact_start_.bytes());
    out_.add_section("impact_width", impact_width_.bytes());
  }
  out_.begin_section("docnos");
}

void IndexWriter::add_documents(const DocumentPack& pack) {
  for (const std::size_t offset : pack.docno_offsets()) docno_offsets_.add(out_.section_size() + offset);
  out_.write(pack.docnos());
  for (const std::size_t offset : pack.text_offsets()) text_offsets_.add(texts_.size() + offset);
  texts_.append(pack.texts());
}

void IndexWriter::end_documents(std::span<const std::uint32_t> lengths) {
  docno_offsets_.add(out_.section_size());
  out_.end_section();
  out_.add_section("docno_offsets", docno_offsets_.bytes());
  text_offsets_.add(texts_.size());
  out_.add_section("texts", texts_);
  out_.add_section("text_offsets", text_offsets_.bytes());
  out_.begin_section("lengths");
  out_.write_array(lengths);
  out_.end_section();
  out_.begin_section("docno_lookup");
}

void IndexWriter::finish(IndexManifest manifest, std::span<const float> pagerank,
                         std::span<const float> global_scores) {
  out_.end_section();
  const auto add = [&](std::string_view name, std::span<const float> scores) {
    if (scores.empty()) return;
    out_.begin_section(name);
    out_.write_array(scores);
    out_.end_section();
  };
  add("pagerank", pagerank);
  add("global_scores", global_scores);
  manifest.terms = dictionary_.size();
  manifest.blocks = rows_;
  manifest.short_lists = short_lists_;
  manifest.short_list_bytes = short_list_bytes_;
  manifest.list_bound_bytes = list_bound_bytes_;
  out_.finish(manifest.to_json());
}

}  // namespace quern
