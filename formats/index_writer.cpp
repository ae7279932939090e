#include "quern/formats/index_writer.hpp"

#include <algorithm>
#include <utility>

#include "quern/codec/short_list.hpp"
#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/io/checksum.hpp"

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

void fail_for_long_list() { throw InvalidArgument("a posting list exceeds 16 GiB; split the corpus into shards"); }

struct IndexWriting::State {
  State(File& file, const std::string& tmp_folder, bool impacts)
      : with_impacts(impacts),
        out(file, FileKind::index),
        lexicon(tmp_folder),
        block_last(tmp_folder),
        block_offset(tmp_folder),
        block_max(tmp_folder),
        impact_start(tmp_folder),
        impact_width(tmp_folder),
        docno_offsets(tmp_folder),
        texts(tmp_folder),
        text_offsets(tmp_folder),
        dictionary([this](ByteView bytes) { lexicon.append(bytes); }, tmp_folder) {}

  bool with_impacts;
  ContainerWriter out;
  Spool lexicon, block_last, block_offset, block_max, impact_start, impact_width;
  RecordSpool<std::uint64_t> docno_offsets;
  Spool texts;
  RecordSpool<std::uint64_t> text_offsets;
  DictionaryWriter dictionary;
  Bytes payload;
  IndexImpactWriter::ListSections list_sections;
  std::uint64_t words = 0, rows = 0, long_lists = 0;
  std::uint64_t part_words = 0, part_rows = 0;  ///< of the current list, if it comes in parts
  std::vector<std::uint32_t> part_offsets;
  std::uint64_t short_lists = 0, short_list_bytes = 0, list_bound_bytes = 0;
};

IndexWriting::IndexWriting(std::unique_ptr<State> state) : state_(std::move(state)) {}
IndexWriting::IndexWriting(IndexWriting&&) noexcept = default;
IndexWriting::~IndexWriting() = default;

IndexListWriter::IndexListWriter(File& file, const std::string& tmp_folder, bool with_impacts)
    : IndexWriting(std::make_unique<State>(file, tmp_folder, with_impacts)) {
  state_->out.begin_section("postings");
  state_->list_sections.postings = state_->out.position();
}

void IndexListWriter::add_head(std::string_view term, const EncodedList& list, std::uint64_t words,
                               std::uint64_t rows) {
  State& to = *state_;
  Bytes& payload = to.payload;
  payload.clear();
  if (to.dictionary.at_block_start()) {
    put_varint(payload, to.words);
    put_varint(payload, to.rows);
    if (to.with_impacts) put_varint(payload, to.long_lists);
  }
  put_varint(payload, list.df);
  put_varint(payload, list.cf - list.df);
  if (list.whole) {
    put_varint(payload, list.whole->df - list.df);
    put_varint(payload, list.whole->cf - list.cf);
  }
  if (list.df <= max_short_list) {
    payload.insert(payload.end(), list.short_list.begin(), list.short_list.end());
    ++to.short_lists;
    to.short_list_bytes += list.short_list.size();
  } else {
    put_varint(payload, words);
    const std::size_t before = payload.size();
    put_ranked_impacts(payload, list.kth_impact, list.df);
    to.list_bound_bytes += payload.size() - before;
    ++to.long_lists;
  }
  to.words += words;
  to.rows += rows;
  to.dictionary.add(term, payload);
}

void IndexListWriter::add_list(std::string_view term, const EncodedList& list) {
  add_rows(list);
  add_head(term, list, list.words.size(), list.block_last.size());
}

void IndexListWriter::add_rows(const EncodedList& list) {
  State& to = *state_;
  to.out.write_array(list.words);
  to.block_last.append_array(list.block_last);
  to.block_offset.append_array(list.block_offset);
  to.block_max.append_array(list.block_max);
}

void IndexListWriter::add_part(const EncodedList& part) {
  State& to = *state_;
  if (to.part_words + part.words.size() > 0xffffffffu) fail_for_long_list();
  to.part_offsets.assign(part.block_offset.begin(), part.block_offset.end());
  for (std::uint32_t& offset : to.part_offsets) offset += static_cast<std::uint32_t>(to.part_words);
  EncodedList in_list = part;
  in_list.block_offset = to.part_offsets;
  add_rows(in_list);
  to.part_words += part.words.size();
  to.part_rows += part.block_last.size();
}

void IndexListWriter::end_parts(std::string_view term, const EncodedList& list) {
  add_head(term, list, std::exchange(state_->part_words, 0), std::exchange(state_->part_rows, 0));
}

void IndexListWriter::add_list(std::string_view term, const EncodedList& list, const SpooledListParts& parts) {
  State& to = *state_;
  parts.words.bytes().for_each_piece([&](ByteView piece) { to.out.write(piece); });
  parts.block_last.bytes().for_each_piece([&](ByteView piece) { to.block_last.append(piece); });
  parts.block_offset.bytes().for_each_piece([&](ByteView piece) { to.block_offset.append(piece); });
  parts.block_max.bytes().for_each_piece([&](ByteView piece) { to.block_max.append(piece); });
  add_head(term, list, parts.words.count(), parts.block_last.count());
}

IndexImpactWriter IndexListWriter::end() && {
  ContainerWriter& out = state_->out;
  out.write(Bytes(over_read_bytes, 0));
  out.end_section();
  const Spool& lexicon_offsets = state_->dictionary.finish();
  out.add_section("lexicon", state_->lexicon);
  out.add_section("lexicon_blocks", lexicon_offsets);
  out.add_section("block_last", state_->block_last);
  state_->list_sections.block_last = out.position() - state_->block_last.size();
  out.add_section("block_offset", state_->block_offset);
  state_->list_sections.block_offset = out.position() - state_->block_offset.size();
  out.add_section("block_max", state_->block_max);
  out.flush();
  if (state_->with_impacts) out.begin_section("impacts");
  return IndexImpactWriter(std::move(state_));
}

IndexImpactWriter::ListSections IndexImpactWriter::list_sections() const { return state_->list_sections; }

void IndexImpactWriter::begin_list(unsigned width) {
  const std::uint64_t start = state_->out.section_size() / sizeof(std::uint32_t);
  const auto stored_width = static_cast<std::uint8_t>(width);
  state_->impact_start.append_array(std::span(&start, 1));
  state_->impact_width.append_array(std::span(&stored_width, 1));
}

void IndexImpactWriter::add_impacts(WordView words) { state_->out.write_array(words); }

IndexDocumentWriter IndexImpactWriter::end() && {
  ContainerWriter& out = state_->out;
  if (state_->with_impacts) {
    out.write(Bytes(over_read_bytes, 0));
    out.end_section();
    out.add_section("impact_start", state_->impact_start);
    out.add_section("impact_width", state_->impact_width);
  }
  out.begin_section("docnos");
  return IndexDocumentWriter(std::move(state_));
}

void IndexDocumentWriter::add(const DocumentPack& pack) {
  State& to = *state_;
  for (const std::size_t offset : pack.docno_offsets()) to.docno_offsets.add(to.out.section_size() + offset);
  to.out.write(pack.docnos());
  for (const std::size_t offset : pack.text_offsets()) to.text_offsets.add(to.texts.size() + offset);
  to.texts.append(pack.texts());
}

IndexDocnoWriter IndexDocumentWriter::end(std::span<const std::uint32_t> lengths) && {
  State& to = *state_;
  to.docno_offsets.add(to.out.section_size());
  to.out.end_section();
  to.out.add_section("docno_offsets", to.docno_offsets.bytes());
  to.text_offsets.add(to.texts.size());
  to.out.add_section("texts", to.texts);
  to.out.add_section("text_offsets", to.text_offsets.bytes());
  to.out.begin_section("lengths");
  to.out.write_array(lengths);
  to.out.end_section();
  to.out.begin_section("docno_lookup");
  return IndexDocnoWriter(std::move(state_));
}

void IndexDocnoWriter::add_docids(std::span<const docid_t> docids) { state_->out.write_array(docids); }

IndexEndWriter IndexDocnoWriter::end() && {
  state_->out.end_section();
  return IndexEndWriter(std::move(state_));
}

void IndexEndWriter::finish(IndexManifest manifest, std::span<const float> pagerank,
                            std::span<const float> global_scores) && {
  ContainerWriter& out = state_->out;
  const auto add = [&](std::string_view name, std::span<const float> scores) {
    if (scores.empty()) return;
    out.begin_section(name);
    out.write_array(scores);
    out.end_section();
  };
  add("pagerank", pagerank);
  add("global_scores", global_scores);
  manifest.terms = state_->dictionary.size();
  manifest.blocks = state_->rows;
  manifest.short_lists = state_->short_lists;
  manifest.short_list_bytes = state_->short_list_bytes;
  manifest.list_bound_bytes = state_->list_bound_bytes;
  out.add_section("manifest", as_bytes(manifest.to_json()));
  out.finish();
}

}  // namespace quern
