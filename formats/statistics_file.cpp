#include "quern/formats/statistics_file.hpp"

#include <cmath>

#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

constexpr std::uint64_t split_bytes = 16;

void write_splits(ContainerWriter& out, std::span<const CollectionSplit> splits) {
  Bytes bytes;
  for (const CollectionSplit& split : splits) {
    put_le(bytes, split.hash);
    put_le(bytes, split.documents);
  }
  out.add_section("splits", bytes);
}

std::vector<CollectionSplit> read_splits(const ContainerReader& container) {
  const SectionInfo& section = container.find("splits");
  if (section.size % split_bytes != 0) container.fail("splits", "has an impossible size");
  const auto numbers = container.load_array<std::uint64_t>("splits", section.size / sizeof(std::uint64_t));
  std::vector<CollectionSplit> splits;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    splits.push_back({numbers[i], numbers[i + 1]});
    if (i > 0 && splits[i / 2] < splits[i / 2 - 1]) container.fail("splits", "descend");
  }
  return splits;
}

void add_dictionary(ContainerWriter& out, std::string_view name, DictionaryWriter& dictionary) {
  const Spool& offsets = dictionary.finish();
  out.end_section();
  out.add_section(std::string(name) + "_blocks", offsets);
}

constexpr auto describe_statistics_file = [](const auto& io, auto& statistics) {
  io("counts", "documents", statistics.collection.documents);
  io("counts", "empty_documents", statistics.collection.empty_documents);
  io("counts", "terms", statistics.collection.terms);
  io("counts", "tokens", statistics.collection.tokens);
  io("counts", "title_tokens", statistics.collection.title_tokens);
  io("counts", "postings", statistics.collection.postings);
  io("counts", "duplicates", statistics.duplicates);
  io("counts", "bad_documents", statistics.collection.bad_documents);
  io("counts", "max_bad_documents", statistics.collection.max_bad_documents);
};

}  // namespace

std::string StatisticsManifest::to_json() const {
  ManifestJson json = new_manifest("statistics");
  json["settings"] = parse_settings(collection);
  put_libraries(json, collection.libraries);
  describe_statistics_file(ManifestPut{json}, *this);
  json["documents_hash"] = hash_text(documents_hash);
  return manifest_text(json);
}

StatisticsManifest StatisticsManifest::from_json(const std::string& text, const std::string& what) {
  StatisticsManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    read_parse_settings(json.at("settings"), what, manifest.collection);
    manifest.collection.libraries = read_libraries(json);
    describe_statistics_file(ManifestGet{json}, manifest);
    if (manifest.collection.title_tokens.value_or(0) > manifest.collection.tokens)
      throw CorruptFile(what + ": section 'manifest': more tokens in titles than in all");
    const auto hash = hash_of_text(json.at("documents_hash").get<std::string>());
    if (!hash) throw CorruptFile(what + ": section 'manifest': 'documents_hash' is not a hash");
    manifest.documents_hash = *hash;
  });
  return manifest;
}

StatisticsWriter::StatisticsWriter(File& out, const std::string& tmp_folder)
    : out_(out, FileKind::statistics),
      terms_([this](ByteView bytes) { out_.write(bytes); }, tmp_folder),
      docnos_([this](ByteView bytes) { out_.write(bytes); }, tmp_folder) {
  out_.begin_section("terms");
}

void StatisticsWriter::add_term(std::string_view term, const TermCounts& counts) {
  payload_.clear();
  counts.put(payload_);
  terms_.add(term, payload_);
  sums_ += counts;
}

void StatisticsWriter::begin_docnos() {
  add_dictionary(out_, "terms", terms_);
  out_.begin_section("docnos");
}

void StatisticsWriter::add_docno(std::string_view key, std::uint64_t documents) {
  payload_.clear();
  put_varint(payload_, documents);
  docnos_.add(key, payload_);
  duplicates_ += documents - 1;
}

void StatisticsWriter::finish(StatisticsManifest manifest, std::span<const CollectionSplit> splits) {
  add_dictionary(out_, "docnos", docnos_);
  manifest.collection.terms = terms_.size();
  manifest.collection.postings = sums_.df;
  manifest.collection.tokens = sums_.cf;
  manifest.duplicates = duplicates_;
  write_splits(out_, splits);
  out_.finish(manifest.to_json());
}

std::string docno_key(std::string_view docno) {
  const Hash128 hash = xxh3_128(as_bytes(docno));
  std::string key;
  for (const std::uint64_t half : {hash.high, hash.low})
    for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(half >> shift);
  return key;
}

StatisticsReader::StatisticsReader(ContainerReader container)
    : ManifestReader(std::move(container)), splits_(read_splits(container_)) {
  const CollectionManifest& counts = manifest_.collection;
  if (counts.documents >= end_docid || counts.terms >= end_docid || manifest_.duplicates > counts.documents)
    container_.fail("manifest", "has impossible counts");
  std::uint64_t documents = 0;
  for (const CollectionSplit& split : splits_) documents += split.documents;
  if (documents != counts.documents)
    container_.fail("splits", "have a different number of documents than the manifest");
}

void StatisticsReader::check_splits(std::vector<CollectionSplit> collections,
                                    const std::string& collections_name) const {
  std::sort(collections.begin(), collections.end());
  if (collections == splits_) return;
  const auto lacking = [](const auto& all, const auto& some) {
    std::vector<CollectionSplit> missing;
    std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(missing));
    return missing.size();
  };
  throw InvalidArgument(
      "{}: was made from different collections than {}: {} of its {} splits were not given, and {} of the given splits "
      "are not in it; name all splits, or create statistics with: quern statistics COLLECTION... -o STATISTICS",
      name(), collections_name, lacking(splits_, collections), splits_.size(), lacking(collections, splits_));
}

void StatisticsReader::verify_contents() const {
  TermCounts sums;
  std::string last;
  DictionaryEntry entry;
  const auto check_rise = [&](std::string_view section, bool is_first) {
    if (!is_first && entry.term <= last) container_.fail(section, "does not ascend");
    last = entry.term;
  };
  DictionaryScan scan = terms();
  for (bool is_first = true; scan.next(entry); is_first = false) {
    check_rise("terms", is_first);
    const TermCounts counts = TermCounts::parse(entry.payload, name());
    if (counts.df == 0 || counts.cf < counts.df || counts.df > manifest_.collection.documents)
      container_.fail("terms", "has impossible counts");
    sums += counts;
  }
  if (sums != TermCounts{manifest_.collection.postings, manifest_.collection.tokens})
    container_.fail("terms", "have different sums than the manifest");
  std::uint64_t documents = 0;
  DictionaryScan docno_scan = docnos();
  for (bool is_first = true; docno_scan.next(entry); is_first = false) {
    check_rise("docnos", is_first);
    ByteReader payload(entry.payload, name());
    documents += payload.varint();
  }
  if (documents != manifest_.collection.documents)
    container_.fail("docnos", "have a different number of documents than the manifest");
}

void write_scales(File& out, const Scales& scales) {
  ManifestJson json = new_manifest("scales");
  // A float32 as a double, written with enough digits to be exact.
  json["settings"] = {{"k1", scales.bm25.k1}, {"b", scales.bm25.b}, {"quantize_top", static_cast<double>(scales.top)}};
  json["statistics_hash"] = scales.statistics_hash;
  ContainerWriter writer(out, FileKind::scales);
  write_splits(writer, scales.splits);
  writer.finish(manifest_text(json));
}

Scales read_scales(const ContainerReader& container) {
  Scales scales;
  read_manifest(container.manifest(), container.name(), [&](const ManifestJson& json) {
    json.at("settings").at("k1").get_to(scales.bm25.k1);
    json.at("settings").at("b").get_to(scales.bm25.b);
    json.at("settings").at("quantize_top").get_to(scales.top);
    json.at("statistics_hash").get_to(scales.statistics_hash);
  });
  if (!(scales.top >= 0) || !std::isfinite(scales.top)) container.fail("manifest", "has an impossible term score");
  scales.splits = read_splits(container);
  return scales;
}

}  // namespace quern
