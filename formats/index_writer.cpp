#include <algorithm>

#include "quern/codec/short_list.hpp"
#include "quern/core/bytes.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

std::uint16_t quantize_up(float impact) {
  // Exact: impacts are in (0, 1], a power of two times a float is a float.
  const auto steps = static_cast<std::int32_t>(std::ceil(impact * 0x1p16f));
  return static_cast<std::uint16_t>(std::clamp(steps, 1, 65536) - 1);
}

std::uint16_t quantize_down(float impact) {
  const auto steps = static_cast<std::int32_t>(std::floor(impact * 0x1p16f));
  return static_cast<std::uint16_t>(std::clamp(steps, 0, 65535));
}

std::uint64_t docno_hash(std::string_view docno) { return xxh3(as_bytes(docno)); }

IndexWriter::IndexWriter(File& file, const std::string& tmp_folder, bool with_impacts)
    : out_(file, FileKind::index, index_version),
      lexicon_(tmp_folder),
      block_last_(tmp_folder),
      block_offset_(tmp_folder),
      block_max_(tmp_folder),
      texts_(tmp_folder),
      with_impacts_(with_impacts),
      dictionary_([this](ByteView bytes) { lexicon_.append(bytes); }) {
  if (with_impacts_) {
    impact_start_.emplace(tmp_folder);
    impact_width_.emplace(tmp_folder);
  }
  out_.begin_section("postings");
  postings_offset_ = out_.position();
}

void IndexWriter::add_list(std::string_view term, const EncodedList& list) {
  payload_.clear();
  if (dictionary_.at_block_start()) {
    put_varint(payload_, words_);
    put_varint(payload_, rows_);
    if (with_impacts_) put_varint(payload_, long_lists_);
  }
  put_varint(payload_, list.df);
  put_varint(payload_, list.cf - list.df);
  if (list.df <= max_short_list) {
    payload_.insert(payload_.end(), list.short_list.begin(), list.short_list.end());
    ++short_lists_;
    short_list_bytes_ += list.short_list.size();
  } else {
    put_varint(payload_, list.words.size());
    const std::size_t before = payload_.size();
    put_le(payload_, list.max_impact);
    for (std::size_t i = 1; i < stored_ranks.size(); ++i)
      if (list.df >= stored_ranks[i]) put_le(payload_, quantize_down(list.kth_impact[i]));
    list_bound_bytes_ += payload_.size() - before;
    out_.write_array(list.words);
    block_last_.append_array(list.block_last);
    block_offset_.append_array(list.block_offset);
    block_max_.append_array(list.block_max);
    ++long_lists_;
  }
  words_ += list.words.size();
  rows_ += list.block_last.size();
  dictionary_.add(term, payload_);
}

void IndexWriter::end_lists() {
  out_.write(Bytes(over_read_bytes, 0));
  out_.end_section();
  const auto offsets = dictionary_.finish();
  out_.add_section("lexicon", lexicon_);
  out_.begin_section("lexicon_blocks");
  out_.write_array(offsets);
  out_.end_section();
  out_.add_section("block_last", block_last_);
  out_.add_section("block_offset", block_offset_);
  out_.add_section("block_max", block_max_);
  out_.flush();
}

void IndexWriter::add_impacts(unsigned width, WordView words) {
  const std::uint64_t start = out_.section_size() / sizeof(std::uint32_t);
  const auto stored_width = static_cast<std::uint8_t>(width);
  impact_start_->append_array(std::span<const std::uint64_t>(&start, 1));
  impact_width_->append_array(std::span<const std::uint8_t>(&stored_width, 1));
  out_.write_array(words);
}

void IndexWriter::end_impacts() {
  out_.write(Bytes(over_read_bytes, 0));
  out_.end_section();
  out_.add_section("impact_start", *impact_start_);
  out_.add_section("impact_width", *impact_width_);
}

void IndexWriter::put_text_block() {
  Bytes frame;
  zstd_.append(text_block_, frame);
  text_offsets_.push_back(texts_.size());
  Bytes size;
  put_varint(size, text_block_.size());
  texts_.append(size);
  texts_.append(frame);
  text_block_.clear();
}

void IndexWriter::add_document(std::string_view docno, std::string_view url, std::string_view title) {
  if (documents_ % docnos_per_block == 0) docno_offsets_.push_back(out_.section_size());
  Bytes row;
  put_string(row, docno);
  out_.write(row);
  put_string(text_block_, url);
  put_string(text_block_, title);
  if (++documents_ % texts_per_block == 0) put_text_block();
}

void IndexWriter::end_documents(std::span<const std::uint32_t> lengths) {
  docno_offsets_.push_back(out_.section_size());
  out_.end_section();
  out_.add_array("docno_offsets", docno_offsets_);
  if (documents_ % texts_per_block != 0) put_text_block();
  text_offsets_.push_back(texts_.size());
  out_.add_section("texts", texts_);
  out_.add_array("text_offsets", text_offsets_);
  out_.begin_section("lengths");
  out_.write_array(lengths);
  out_.end_section();
}

void IndexWriter::add_scores(std::span<const float> pagerank, std::span<const float> global_scores) {
  const auto add = [&](std::string_view name, std::span<const float> scores) {
    if (scores.empty()) return;
    out_.begin_section(name);
    out_.write_array(scores);
    out_.end_section();
  };
  add("pagerank", pagerank);
  add("global_scores", global_scores);
}

void IndexWriter::finish(IndexManifest manifest) {
  manifest.terms = dictionary_.size();
  manifest.blocks = rows_;
  manifest.short_lists = short_lists_;
  manifest.short_list_bytes = short_list_bytes_;
  manifest.list_bound_bytes = list_bound_bytes_;
  out_.add_section("manifest", as_bytes(manifest.to_json()));
  out_.finish();
}

}  // namespace quern
