#include "quern/formats/forward_file.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <filesystem>
#include <mutex>

#include "quern/codec/kernels.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

constexpr auto describe_forward = [](const auto& io, auto& forward) {
  io("index_hash", forward.index_hash);
  io("index_terms", forward.index_terms);
  io("counts", "documents", forward.documents);
  io("counts", "segments", forward.counts.segments);
  for (std::size_t stream = 0; stream < num_document_streams; ++stream)
    io("counts", (std::string(document_stream_names[stream]) + "_tokens").c_str(), forward.counts.tokens[stream]);
  io("counts", "phrase_ends", forward.counts.phrase_ends);
  io("counts", "literals", forward.counts.literals);
};

/// Decodes documents one after another.
class ForwardVerification {
 public:
  explicit ForwardVerification(const ForwardReader& forward) : forward_(forward) {}

  SegmentCounts count(docid_t docid) {
    SegmentCounts counts;
    const std::string what = forward_.place(docid);
    std::size_t last_stream = 0;
    forward_.for_each_segment(docid, [&](const ForwardSegment& segment) {
      segment.read_terms(numbers_, literals_, what);
      ids_.resize(segment.places() + unpack_slack);
      segment.unpack(0, segment.places(), ids_.data());
      std::uint32_t at = 0;
      for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
        const std::uint32_t places = segment.stream_places()[stream];
        if (places > 0 && stream < last_stream) throw CorruptFile(what + ": streams out of order");
        if (places > 0) last_stream = stream;
        for (const std::uint32_t end = at + places; at < end; ++at) count_place(ids_[at], stream, what, counts);
      }
      counts.literals += segment.num_literals();
      ++counts.segments;
    });
    return counts;
  }

 private:
  void count_place(std::uint32_t id, std::size_t stream, const std::string& what, SegmentCounts& counts) const {
    if (id > numbers_.size() + literals_.size()) throw CorruptFile(what + ": an unknown term");
    ++(id == 0 ? counts.phrase_ends : counts.tokens[stream]);
  }

  const ForwardReader& forward_;
  std::vector<term_t> numbers_;
  std::vector<std::string_view> literals_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace

std::string ForwardManifest::to_json() const { return described_manifest("forward", *this, describe_forward); }

ForwardManifest ForwardManifest::from_json(const std::string& text, const std::string& what) {
  auto manifest = read_described_manifest<ForwardManifest>(text, what, describe_forward);
  if (manifest.documents >= end_docid || manifest.index_terms >= end_docid)
    throw CorruptFile(what + ": section 'manifest': impossible counts");
  return manifest;
}

ForwardWriter::ForwardWriter(File& file, const std::string& tmp_folder)
    : out_(file, FileKind::forward), offsets_(tmp_folder) {
  out_.begin_section("documents");
}

void ForwardWriter::begin_document(const StaticNumbers& numbers) {
  offsets_.add(out_.section_size());
  head_.clear();
  put_varint(head_, numbers.url_bytes);
  put_varint(head_, numbers.url_depth);
  put_varint(head_, numbers.links);
  out_.write(head_);
}

void ForwardWriter::finish(const ForwardManifest& manifest, const std::vector<std::uint32_t>& out_links,
                           const std::vector<std::uint32_t>& in_links) {
  offsets_.add(out_.section_size());
  out_.write(Bytes(ForwardSegment::slack_bytes));
  out_.end_section();
  out_.add_section("document_offsets", offsets_.bytes());
  out_.add_array("out_links", out_links);
  out_.add_array("in_links", in_links);
  out_.finish(manifest.to_json());
}

ForwardReader ForwardReader::open(const IndexReader& index) {
  const std::string path = member_path(index.name(), forward_member);
  if (!std::filesystem::exists(path)) {
    throw InvalidArgument("{}: the index has no forward file; build it again with {} or {}", path,
                          option_name<"index forward">, option_name<"build forward">);
  }
  ForwardReader reader(ContainerReader::open(path, FileKind::forward));
  reader.check_belongs_to(index);
  return reader;
}

ForwardReader::ForwardReader(ContainerReader container)
    : ManifestReader(std::move(container)),
      documents_(container_, "documents"),
      offsets_(container_, "document_offsets"),
      out_links_(container_, "out_links"),
      in_links_(container_, "in_links") {
  container_.check_count(container_.find("document_offsets"), manifest_.documents + 1, sizeof(std::uint64_t));
  container_.check_count(container_.find("out_links"), manifest_.documents, sizeof(std::uint32_t));
  container_.check_count(container_.find("in_links"), manifest_.documents, sizeof(std::uint32_t));
  if (documents_.size() < ForwardSegment::slack_bytes) container_.fail("documents", "ends too early");
}

void ForwardReader::check_belongs_to(const IndexReader& index) const {
  if (manifest_.index_hash == hash_text(index.container().content_hash()) &&
      manifest_.documents == index.manifest().documents && manifest_.index_terms == index.manifest().terms)
    return;
  throw InvalidArgument(
      "{}: is the forward file of another index; build the index and its forward file together, with {}", name(),
      option_name<"index forward">);
}

std::string ForwardReader::place(docid_t docid) const {
  return fmt::format("{}: section 'documents': docID {}", container_.name(), docid);
}

std::uint64_t ForwardReader::offset(std::uint64_t i) const { return offsets_.number<std::uint64_t>(i); }

ForwardReader::Range ForwardReader::document_range(docid_t docid) const {
  const Range range = {offset(docid), offset(docid + std::uint64_t{1})};
  if (range.from >= range.to || range.to > documents_.size() - ForwardSegment::slack_bytes)
    container_.fail("document_offsets", fmt::format("docID {}: an impossible offset", docid));
  return range;
}

ByteView ForwardReader::document_bytes(docid_t docid) const {
  const auto [from, to] = document_range(docid);
  // Include the bytes after it that decoding may read.
  return documents_.bytes(from, to + ForwardSegment::slack_bytes).first(to - from);
}

StaticNumbers ForwardReader::read_head(docid_t docid, ByteReader& reader) const {
  StaticNumbers numbers;
  numbers.url_bytes = reader.varint();
  numbers.url_depth = reader.varint();
  numbers.links = reader.varint();
  numbers.out_links = out_links(docid);
  numbers.in_links = in_links(docid);
  return numbers;
}

StaticNumbers ForwardReader::numbers(docid_t docid) const {
  ByteReader reader(document_bytes(docid), container_.name());
  return read_head(docid, reader);
}

void ForwardReader::verify_contents(const IndexReader& index, const Resources& resources) const {
  return run_stage(resources, [&] {
    constexpr docid_t at_once = 256;
    SegmentCounts sum;
    std::uint64_t links_in = 0, links_out = 0;
    std::mutex adding;
    tbb::parallel_for(std::uint64_t{0}, manifest_.documents / at_once + 1, [&](std::uint64_t group) {
      ForwardVerification verification(*this);
      SegmentCounts group_counts;
      std::uint64_t in_of_group = 0, out_of_group = 0;
      const std::uint64_t end = std::min(manifest_.documents, (group + 1) * at_once);
      for (std::uint64_t docid = group * at_once; docid < end; ++docid) {
        const SegmentCounts counts = verification.count(static_cast<docid_t>(docid));
        if (counts.tokens[0] + counts.tokens[1] != index.length(static_cast<docid_t>(docid)))
          throw CorruptFile(place(static_cast<docid_t>(docid)) + ": its length differs from the index's");
        group_counts += counts;
        const StaticNumbers numbers = this->numbers(static_cast<docid_t>(docid));
        if (numbers.out_links > numbers.links)
          throw CorruptFile(place(static_cast<docid_t>(docid)) + ": links to more documents than it has links");
        in_of_group += numbers.in_links;
        out_of_group += numbers.out_links;
      }
      const std::lock_guard lock(adding);
      sum += group_counts;
      links_in += in_of_group;
      links_out += out_of_group;
      resources.progress->add(end - group * at_once);
    });
    if (sum != manifest_.counts) container_.fail("manifest", "its counts differ from those of the documents");
    // A shard's links lead to other shards and come from them.
    if (!index.manifest().shard && links_in != links_out)
      container_.fail("in_links", "its sum differs from that of out_links");
  });
}

void for_each_token(const ForwardReader& forward, const IndexReader& index, docid_t docid, const TokenVisitor& visit) {
  const std::string what = forward.place(docid);
  std::vector<term_t> numbers;
  std::vector<std::string_view> literals;
  std::vector<std::string> terms;
  std::vector<std::uint32_t> ids;
  forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
    segment.read_terms(numbers, literals, what);
    terms.assign(1, {});
    for (const term_t number : numbers) terms.push_back(index.term(number));
    for (const std::string_view literal : literals) terms.emplace_back(literal);
    ids.resize(segment.places() + unpack_slack);
    segment.unpack(0, segment.places(), ids.data());
    std::uint32_t at = 0;
    for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
      for (const std::uint32_t end = at + segment.stream_places()[stream]; at < end; ++at) {
        if (ids[at] >= terms.size()) throw CorruptFile(what + ": an unknown term");
        visit(static_cast<DocumentStream>(stream), terms[ids[at]]);
      }
    }
  });
}

}  // namespace quern
