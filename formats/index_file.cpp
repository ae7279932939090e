#include "quern/formats/index_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/short_list.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {
namespace {

/// Greatest impacts are mostly from 1 / 4 to 1: their distance from the bits of 1 takes three bytes.
constexpr std::uint32_t bits_of_one = std::bit_cast<std::uint32_t>(1.0f), far_below_one = 0xffffff;

/// Steps in which a k-th best impact is a share of the greatest.
constexpr std::uint32_t shares = 255;

std::uint32_t share_of(float impact, float greatest) {
  const std::uint32_t whole = quantize_down(greatest);
  return whole == 0 ? 0 : quantize_down(impact) * shares / whole;
}

float impact_of(std::uint32_t share, float greatest) {
  return dequantize_down(static_cast<std::uint16_t>(quantize_down(greatest) * share / shares));
}

void put_greatest(Bytes& to, float greatest) {
  const auto bits = std::bit_cast<std::uint32_t>(greatest);
  const std::uint32_t distance = bits <= bits_of_one ? bits_of_one - bits : far_below_one;
  const bool is_near = distance < far_below_one;
  put_le(to, static_cast<std::uint16_t>(is_near ? distance : far_below_one));
  put_le(to, static_cast<std::uint8_t>((is_near ? distance : far_below_one) >> 16));
  if (!is_near) put_le(to, greatest);
}

float read_greatest(ByteReader& from) {
  const std::uint32_t low = from.le<std::uint16_t>(), distance = low | std::uint32_t{from.le<std::uint8_t>()} << 16;
  const float greatest = distance == far_below_one ? from.le<float>() : std::bit_cast<float>(bits_of_one - distance);
  if (!(greatest >= 0 && greatest <= 1)) from.fail("a list has an impossible maximum impact");
  return greatest;
}

template <class Number>
std::span<const Number> array_of(const ContainerReader& container, std::string_view name, std::uint64_t count) {
  container.check_count(container.find(name), count, sizeof(Number));
  return container.array<Number>(name);
}

template <class Number>
CheckedSection checked_array_of(const ContainerReader& container, std::string_view name, std::uint64_t count) {
  container.check_count(container.find(name), count, sizeof(Number));
  return CheckedSection(container, name);
}

std::uint64_t groups(std::uint64_t count, std::uint64_t size) { return (count + size - 1) / size; }

}  // namespace

float stored_kth_impact(float impact, float greatest) { return impact_of(share_of(impact, greatest), greatest); }

void put_ranked_impacts(Bytes& to, const RankedImpacts& bounds, std::uint64_t df) {
  put_greatest(to, bounds[0]);
  for (std::size_t i = 1; i < stored_ranks.size(); ++i)
    if (df >= stored_ranks[i]) put_le(to, static_cast<std::uint8_t>(share_of(bounds[i], bounds[0])));
}

RankedImpacts read_ranked_impacts(ByteReader& from, std::uint64_t df) {
  RankedImpacts bounds{};
  bounds[0] = read_greatest(from);
  for (std::size_t i = 1; i < stored_ranks.size(); ++i)
    if (df >= stored_ranks[i]) bounds[i] = impact_of(from.le<std::uint8_t>(), bounds[0]);
  return bounds;
}

IndexReader IndexReader::open(const std::string& path) {
  return IndexReader(ContainerReader::open(quern_file(path), FileKind::index));
}

IndexReader IndexReader::open(const File& file) {
  return IndexReader(ContainerReader(std::make_shared<const File>(file.duplicate()), FileKind::index));
}

IndexReader::IndexReader(ContainerReader container) : ManifestReader(std::move(container)) {
  if (manifest_.documents >= end_docid || manifest_.terms >= end_docid || manifest_.short_lists > manifest_.terms)
    container_.fail("manifest", "has impossible counts");
  if (manifest_.shard &&
      (manifest_.statistics.documents >= end_docid || manifest_.documents > manifest_.statistics.documents ||
       manifest_.docid_base > manifest_.statistics.documents - manifest_.documents))
    container_.fail("manifest", "describes a shard with more documents than the whole index");
  // Bounds and scores are valid only for parameters in these ranges.
  const Bm25Parameters& bm25 = manifest_.bm25;
  if (!(bm25.k1 >= 0 && bm25.k1 <= 1000 && bm25.b >= 0 && bm25.b <= 1))
    container_.fail("manifest", "has impossible BM25 parameters");
  try {
    codec_ = &codec_named(manifest_.codec);
    check_codec_options(manifest_.codec_options);
  } catch (const InvalidArgument& error) {
    throw UnsupportedVersion("{}: uses a codec that this version of Quern lacks: {}", name(), error.what());
  }
  lexicon_ = TermDictionary(container_, "lexicon", manifest_.terms);
  postings_ = container_.array<std::uint32_t>("postings");
  if (postings_.size_bytes() < over_read_bytes) container_.fail("postings", "is too small");
  block_last_ = array_of<docid_t>(container_, "block_last", manifest_.blocks);
  block_offset_ = array_of<std::uint32_t>(container_, "block_offset", manifest_.blocks);
  block_max_ = array_of<std::uint16_t>(container_, "block_max", manifest_.blocks);
  open_impacts();
  lengths_ = array_of<std::uint32_t>(container_, "lengths", manifest_.documents);
  docnos_ = CheckedSection(container_, "docnos");
  docno_offsets_ =
      checked_array_of<std::uint64_t>(container_, "docno_offsets", groups(manifest_.documents, docnos_per_block) + 1);
  docno_lookup_ = checked_array_of<docid_t>(container_, "docno_lookup", manifest_.documents);
  texts_ = CheckedSection(container_, "texts");
  text_offsets_ =
      checked_array_of<std::uint64_t>(container_, "text_offsets", groups(manifest_.documents, texts_per_block) + 1);
  if (container_.has("pagerank")) pagerank_ = array_of<float>(container_, "pagerank", manifest_.documents);
  if (container_.has("global_scores"))
    global_scores_ = array_of<float>(container_, "global_scores", manifest_.documents);
}

std::pair<std::string, PostingList> IndexReader::entry(term_t number) const {
  DictionaryBlock block = lexicon_.block(number / terms_per_block);
  ListPlace place = block_start(number / terms_per_block);
  DictionaryEntry entry;
  while (block.next(entry)) {
    ByteReader reader(entry.payload, lexicon_.what());
    if (const ListHead head = read_head(reader, place); head.place.number == number)
      return {std::string(entry.term), read_list(reader, head)};
  }
  return {};
}

PostingList IndexReader::list(term_t number) const { return entry(number).second; }

std::string IndexReader::term(term_t number) const { return entry(number).first; }

void IndexReader::check_document_scores() const {
  for (const char* section : {"pagerank", "global_scores"})
    if (container_.has(section)) container_.check_section(section);
  for (const float rank : pagerank_)
    if (!(rank >= 0 && rank <= 1)) container_.fail("pagerank", "has values outside of [0, 1]");
  for (std::size_t docid = 0; docid < global_scores_.size(); ++docid)
    if (!(global_scores_[docid] >= 0) || (docid > 0 && global_scores_[docid] > global_scores_[docid - 1]))
      container_.fail("global_scores", "its values increase");
}

void IndexReader::open_impacts() {
  const unsigned bits = manifest_.quantize_bits;
  if (bits == 0) return;
  const float top = manifest_.quantize_top;
  if (bits < min_quantize_bits || bits > max_quantize_bits || !(top >= 0) || !std::isfinite(top))
    container_.fail("manifest", "has impossible settings for quantized impacts");
  impacts_ = container_.array<std::uint32_t>("impacts");
  if (impacts_.size_bytes() < over_read_bytes) container_.fail("impacts", "is too small");
  impact_start_ = array_of<std::uint64_t>(container_, "impact_start", manifest_.long_lists());
  impact_width_ = array_of<std::uint8_t>(container_, "impact_width", manifest_.long_lists());
}

void IndexReader::find_impacts(PostingList& list, std::uint64_t long_list) const {
  if (long_list >= impact_start_.size()) container_.fail("lexicon", "has more long lists than the manifest");
  const std::uint64_t start = impact_start_[long_list];
  const unsigned width = impact_width_[long_list];
  if (width == 0 || width > manifest_.quantize_bits)
    container_.fail("impact_width", fmt::format("list {} has an impossible width", list.number));
  const std::uint64_t words = impact_list_words(list.df, block_size(), width);
  const std::uint64_t readable = impacts_.size() - over_read_bytes / sizeof(std::uint32_t);
  if (start > readable || words > readable - start)
    container_.fail("impact_start", fmt::format("list {} reaches past the impacts", list.number));
  list.impacts = impacts_.subspan(start, words);
  list.first_impact_word = start;
  list.impact_width = width;
}

IndexReader::ListHead IndexReader::read_head(ByteReader& reader, ListPlace& place) const {
  if (place.at_block_start) {
    place.word = reader.varint();
    place.row = reader.varint();
    if (manifest_.quantize_bits > 0) place.long_list = reader.varint();
    place.at_block_start = false;
  }
  ListHead head;
  head.place = place;
  head.df = reader.varint();
  head.cf = head.df + reader.varint();
  head.whole = {head.df, head.cf};
  if (manifest_.shard) {
    head.whole.df += reader.varint();
    head.whole.cf += reader.varint();
    if (head.whole.df > manifest_.statistics.documents) reader.fail("a term occurs in more documents than exist");
  }
  if (head.df == 0 || head.df > manifest_.documents) reader.fail("a list has an impossible length");
  ++place.number;
  if (head.df <= max_short_list) return head;
  head.words = reader.varint();
  const std::uint64_t blocks = (head.df + block_size() - 1) / block_size();
  head.rows = blocks > 1 ? blocks : 0;
  place.word += head.words;
  place.row += head.rows;
  ++place.long_list;
  return head;
}

PostingList IndexReader::read_list(ByteReader& reader, const ListHead& head) const {
  PostingList list;
  list.number = static_cast<term_t>(head.place.number);
  list.df = head.df;
  list.cf = head.cf;
  list.whole_df = static_cast<docid_t>(head.whole.df);
  list.whole_cf = head.whole.cf;
  if (list.df <= max_short_list) {
    list.short_list = reader.take(reader.left());
    return list;
  }
  const std::uint64_t readable = postings_.size() - over_read_bytes / sizeof(std::uint32_t);
  if (head.words == 0 || head.place.word > readable || head.words > readable - head.place.word)
    reader.fail("a list reaches past the postings");
  if (head.place.row > block_last_.size() || head.rows > block_last_.size() - head.place.row)
    reader.fail("a list reaches past the block rows");
  list.kth_impact = read_ranked_impacts(reader, list.df);
  list.max_impact = list.kth_impact[0];
  if (!reader.done()) reader.fail("a list has trailing bytes");
  list.first_word = head.place.word;
  list.first_row = head.place.row;
  list.words = postings_.subspan(head.place.word, head.words);
  list.block_last = block_last_.subspan(head.place.row, head.rows);
  list.block_offset = block_offset_.subspan(head.place.row, head.rows);
  list.block_max = block_max_.subspan(head.place.row, head.rows);
  if (manifest_.quantize_bits > 0) find_impacts(list, head.place.long_list);
  return list;
}

PostingList IndexReader::read_list(ByteView payload, ListPlace& place) const {
  ByteReader reader(payload, lexicon_.what());
  const ListHead head = read_head(reader, place);
  return read_list(reader, head);
}

std::optional<PostingList> IndexReader::find(std::string_view term) const {
  const auto block_number = lexicon_.block_of(term);
  if (!block_number) return std::nullopt;
  DictionaryBlock block = lexicon_.block(*block_number);
  ListPlace place = block_start(*block_number);
  const auto payload = block.find(term, [&](ByteView before) {
    ByteReader reader(before, lexicon_.what());
    read_head(reader, place);
  });
  if (!payload) return std::nullopt;
  return read_list(*payload, place);
}

std::string_view IndexReader::docno(docid_t docid) const {
  const docid_t group = docid / docnos_per_block;
  const auto from = docno_offsets_.number<std::uint64_t>(group), to = docno_offsets_.number<std::uint64_t>(group + 1);
  if (from > to || to > docnos_.size()) container_.fail("docno_offsets", "do not ascend");
  ByteReader reader(docnos_.bytes(from, to), name());
  for (docid_t i = docid % docnos_per_block; i > 0; --i) reader.string();
  return reader.string();
}

std::uint64_t IndexReader::docno_hash_at(std::uint64_t place) const {
  if (docno_lookup(place) >= manifest_.documents) container_.fail("docno_lookup", "has an unknown docID");
  return docno_hash(docno(docno_lookup(place)));
}

std::uint64_t IndexReader::first_place_of(std::uint64_t hash) const {
  return first_without(0, manifest_.documents, [&](std::uint64_t place) { return docno_hash_at(place) < hash; });
}

std::optional<docid_t> IndexReader::find_docno(std::string_view wanted) const {
  const std::uint64_t hash = docno_hash(wanted);
  for (std::uint64_t place = first_place_of(hash); place < manifest_.documents && docno_hash_at(place) == hash; ++place)
    if (docno(docno_lookup(place)) == wanted) return docno_lookup(place);
  return std::nullopt;
}

void IndexReader::for_each_of_docno(std::string_view wanted, const std::function<void(docid_t)>& visit) const {
  const std::uint64_t hash = docno_hash(wanted);
  for (std::uint64_t place = first_place_of(hash); place < manifest_.documents && docno_hash_at(place) == hash; ++place)
    if (docno(docno_lookup(place)) == wanted) visit(docno_lookup(place));
}

IndexReader::DocumentText IndexReader::text(docid_t docid) const {
  DocumentText text;
  for_each_text(docid, docid + 1, [&](docid_t, std::string_view url, std::string_view title) {
    text.url = url;
    text.title = title;
  });
  return text;
}

void IndexReader::for_each_text(
    docid_t begin, docid_t end,
    const std::function<void(docid_t, std::string_view url, std::string_view title)>& visit) const {
  ZstdDecompressor zstd;
  Bytes raw;
  const std::string what = name() + ": section 'texts'";
  while (begin < end) {
    const docid_t group = begin / texts_per_block;
    const auto from = text_offsets_.number<std::uint64_t>(group), to = text_offsets_.number<std::uint64_t>(group + 1);
    if (from > to || to > texts_.size()) container_.fail("text_offsets", "do not ascend");
    ByteReader header(texts_.bytes(from, to), what);
    const std::uint64_t size = header.varint();
    zstd.decompress(header.take(header.left()), size, raw, what);
    ByteReader reader(raw, what);
    const docid_t first = group * texts_per_block;
    const auto stop = static_cast<docid_t>(std::min<std::uint64_t>(end, std::uint64_t{first} + texts_per_block));
    for (docid_t docid = first; docid < stop; ++docid) {
      const std::string_view url = reader.string(), title = reader.string();
      if (docid >= begin) visit(docid, url, title);
    }
    begin = stop;
  }
}

namespace {

Features features_of(const IndexManifest& manifest) {
  Features features;
  if (manifest.impacts)
    features.emplace_back(weights_feature);
  else if (manifest.quantize_bits > 0)
    features.emplace_back(impacts_feature);
  if (manifest.weighting) features.emplace_back(weighting_feature);
  if (manifest.shard) features.emplace_back(shard_feature);
  if (manifest.codec == newpfd_codec.name) features.emplace_back(simple16_feature);
  return features;
}

constexpr auto describe_index_settings = [](const auto& io, auto& index) {
  io("settings", "order", index.order);
  io("settings", "seed", index.order_seed);
  io("settings", "codec", index.codec);
  io("settings", "block_size", index.codec_options.block_size);
  if (index.codec == rpfd_codec.name) io("settings", "recursion", index.codec_options.recursion);
  io("settings", "k1", index.bm25.k1);
  io("settings", "b", index.bm25.b);
};

constexpr auto describe_shard = [](const auto& io, auto& shard) {
  io("shard", "number", shard.number);
  io("shard", "count", shard.count);
  io("shard", "order_hash", shard.order_hash);
  io("shard", "statistics_hash", shard.statistics_hash);
  io("shard", "input_hash", shard.input_hash);
};

constexpr auto describe_index_statistics = [](const auto& io, auto& index) {
  io("statistics", "documents", index.statistics.documents);
  io("statistics", "tokens", index.statistics.tokens);
  io("statistics", "docid_base", index.docid_base);
};

constexpr auto describe_index_counts = [](const auto& io, auto& index) {
  io("counts", "documents", index.documents);
  io("counts", "empty_documents", index.empty_documents);
  io("counts", "terms", index.terms);
  io("counts", "postings", index.postings);
  io("counts", "tokens", index.tokens);
  io("counts", "blocks", index.blocks);
  io("counts", "short_lists", index.short_lists);
  io("sizes", "short_list_bytes", index.short_list_bytes);
  io("sizes", "list_bound_bytes", index.list_bound_bytes);
  io("sizes", "docid_bits", index.coded.docid_bits);
  io("sizes", "freq_bits", index.coded.freq_bits);
  io("collection_hash", index.collection_hash);
};

}  // namespace

std::string IndexManifest::to_json() const {
  ManifestJson json = new_manifest("index");
  const ManifestPut put{json};
  json["features"] = features_of(*this);
  json["settings"] = parse_settings(*this);
  json["settings"]["lengths"] = name_of_value(lengths_names, lengths);
  if (has_forward) json["settings"]["forward"] = true;
  if (has_texts) json["settings"]["store_text"] = true;
  describe_index_settings(put, *this);
  if (weighting) json["settings"]["weighting"] = quern::to_json(*weighting);
  if (scores) json["settings"]["scores"] = quern::to_json(*scores);
  if (quantize_bits > 0 && !impacts) {
    json["settings"]["quantize_bits"] = quantize_bits;
    // A float32 as a double, written with enough digits to be exact.
    json["settings"]["quantize_top"] = static_cast<double>(quantize_top);
  }
  put_libraries(json, libraries);
  describe_index_statistics(put, *this);
  if (shard) describe_shard(put, *shard);
  describe_index_counts(put, *this);
  return manifest_text(json);
}

IndexManifest IndexManifest::from_json(const std::string& text, const std::string& what) {
  IndexManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    const ManifestGet get{json};
    const auto& settings = json.at("settings");
    read_parse_settings(settings, what, manifest);
    manifest.lengths = named_value(settings.at("lengths"), lengths_names, what);
    manifest.has_forward = settings.value("forward", false);
    manifest.has_texts = settings.value("store_text", false);
    describe_index_settings(get, manifest);
    // Before there was a codec with Simple16, the one with masks had its name.
    const auto features = json.value("features", Features());
    if (manifest.codec == newpfd_codec.name && std::ranges::count(features, simple16_feature) == 0)
      manifest.codec = maskpfd_codec.name;
    if (settings.contains("scores")) manifest.scores = document_score_settings(settings.at("scores"), what);
    manifest.quantize_bits = settings.value("quantize_bits", 0u);
    if (manifest.quantize_bits > 0) settings.at("quantize_top").get_to(manifest.quantize_top);
    if (settings.contains("weighting")) manifest.weighting = read_weighting(settings.at("weighting"), what);
    if (manifest.weighting && !manifest.impacts)
      throw CorruptFile(what + ": section 'manifest': has a weighting model, but no impacts");
    if (manifest.impacts) {
      manifest.quantize_bits = manifest.impacts->bits;
      manifest.quantize_top = static_cast<float>(manifest.impacts->max_weight());
    }
    manifest.libraries = read_libraries(json);
    describe_index_statistics(get, manifest);
    if (json.contains("shard")) {
      const ShardManifest& shard = manifest.shard.emplace();
      describe_shard(get, *manifest.shard);
      if (shard.number == 0 || shard.number > shard.count)
        throw CorruptFile(what + ": section 'manifest': has an impossible shard number");
    }
    describe_index_counts(get, manifest);
    check_features(json, features_of(manifest), what);
  });
  return manifest;
}

}  // namespace quern
