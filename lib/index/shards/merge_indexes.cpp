#include "quern/index/shards/merge_indexes.hpp"

#include <deque>

#include "quern/formats/fields_file.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/forward/recode_forward.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/index/shards/joined_lists.hpp"

namespace quern {
namespace {

/// The lists of all shards, term by term.
class ShardLexicons {
 public:
  explicit ShardLexicons(const IndexShards& shards) : tournament_(shards.size()) {
    for (const IndexReader& shard : shards) cursors_.emplace_back(shard);
    has_next_ = advance();
  }

  bool next(std::string& term, std::vector<PostingRange>& ranges) {
    if (!has_next_) return false;
    term = tournament_.term();
    do {
      const LexiconCursor& cursor = cursors_[tournament_.source()];
      const auto base = static_cast<docid_t>(cursor.index().manifest().docid_base);
      ranges.push_back({&cursor.index(), cursor.list(), 0, cursor.list().df, base, 0});
      has_next_ = advance();
    } while (has_next_ && !tournament_.is_new_term());
    return true;
  }

 private:
  bool advance() {
    return tournament_.next([&](std::size_t shard) -> std::optional<std::string_view> {
      if (!cursors_[shard].next()) return std::nullopt;
      return cursors_[shard].term();
    });
  }

  std::vector<LexiconCursor> cursors_;  ///< in the order of docIDs
  TermTournament tournament_;
  bool has_next_;
};

/// The numbers of all shards, concatenated; empty if the shards have none.
template <class Number>
std::vector<Number> joined(const IndexShards& shards, std::span<const Number> (IndexReader::*numbers)() const) {
  std::vector<Number> all;
  for (const IndexReader& shard : shards) {
    const std::span<const Number> some = (shard.*numbers)();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// The manifest of the whole index, except for members set by the assembly.
IndexManifest whole_manifest(const IndexShards& shards) {
  IndexManifest manifest = settings_of_index(shards[0].manifest());
  manifest.collection_hash = shards.collection_hash();
  return manifest;
}

}  // namespace

BuildOptions options_of_index(const IndexManifest& manifest) {
  BuildOptions options;
  options.codec = manifest.codec;
  options.codec_options = manifest.codec_options;
  options.bm25 = manifest.bm25;
  options.impacts = manifest.impacts;
  options.weighting = manifest.weighting;
  if (!manifest.impacts) options.quantize_bits = manifest.quantize_bits;
  options.forward = manifest.has_forward;
  options.texts = manifest.has_texts;
  return options;
}

IndexManifest settings_of_index(const IndexManifest& from) {
  IndexManifest manifest;
  copy_parse_settings(from, manifest);
  manifest.order = from.order;
  manifest.order_seed = from.order_seed;
  manifest.scores = from.scores;
  manifest.lengths = from.lengths;
  return manifest;
}

BuildReport merge_indexes(const IndexShards& shards, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    const IndexManifest& manifest = shards[0].manifest();
    if (!manifest.shard || manifest.shard->count != shards.size())
      throw InvalidArgument(shards[0].name() + ": is not a full set of shards; name all shards of one index");
    const BuildOptions options = options_of_index(manifest);
    std::uint64_t postings = 0;
    for (const IndexReader& shard : shards) postings += shard.manifest().postings;
    const std::vector<float> pagerank = joined(shards, &IndexReader::pagerank);
    const std::vector<float> global_scores = joined(shards, &IndexReader::global_scores);
    const IndexTables tables{manifest.statistics.documents,
                             unsigned{!pagerank.empty()} + unsigned{!global_scores.empty()}};
    IndexAssembly assembly({tables, options, resources, out, "the shards"});
    ShardLexicons lexicons(shards);
    const JoinedLists lists{
        [&](std::string& term, std::vector<PostingRange>& ranges) { return lexicons.next(term, ranges); },
        [&] {
          for (const IndexReader& shard : shards) shard.container().release();
        }};
    write_joined_lists(assembly, joined(shards, &IndexReader::lengths), manifest.statistics, postings, lists);
    assembly.write_documents([&](docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit) {
      while (first < end) {
        const IndexShards::Place place = shards.place(first);
        const docid_t count = std::min(end - first, place.index.num_documents() - place.docid);
        visit_documents(place.index, place.docid, place.docid + count, visit);
        first += count;
      }
    });
    return assembly.finish(whole_manifest(shards), pagerank, global_scores);
  });
}

std::vector<IndexPart> parts_of(const IndexShards& shards) {
  std::vector<IndexPart> parts;
  for (const IndexReader& shard : shards) parts.push_back({shard, {0, shard.num_documents()}});
  return parts;
}

TextsReport copy_texts(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                       File& out) {
  return run_stage(resources, [&] {
    std::deque<TextsReader> texts;
    std::uint64_t documents = 0, bytes = 0;
    for (const IndexPart& part : parts) {
      texts.push_back(TextsReader::open_beside(part.index));
      texts.back().container().verify(resources);
      documents += part.docids.size();
    }
    resources.progress->start("write texts", documents, "documents");
    TextsWriter writer(out, resources.tmp_folder);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TextBuffers buffers;
      for (docid_t docid = parts[i].docids.first; docid < parts[i].docids.end; ++docid) {
        texts[i].read(docid, buffers, [&](std::string_view piece) {
          writer.add(piece);
          bytes += piece.size();
        });
        writer.end_document();
        resources.progress->add(1);
      }
      texts[i].container().release();
    }
    writer.finish(index_hash);
    resources.progress->finish();
    return TextsReport{bytes, out.size()};
  });
}

FieldsReport copy_fields(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                         File& out) {
  return run_stage(resources, [&] {
    const std::vector<std::string> names = parts.front().index.manifest().field_names.kept;
    FieldsWriter writer(out, resources.tmp_folder, names);
    Bytes row;
    for (const IndexPart& part : parts) {
      const FieldsReader fields = FieldsReader::open_beside(part.index);
      fields.container().verify(resources);
      std::vector<FieldBuffers> buffers(names.size());
      for (docid_t docid = part.docids.first; docid < part.docids.end; ++docid) {
        row.clear();
        for (std::size_t field = 0; field < names.size(); ++field)
          put_field_value(row,
                          fields.values(field, docid / fields_per_frame, buffers[field])[docid % fields_per_frame]);
        writer.add(row);
      }
    }
    writer.finish(index_hash);
    return FieldsReport{names.size(), out.size()};
  });
}

ForwardReport copy_forward(std::span<const IndexPart> parts, const IndexReader& to, const Resources& resources,
                           File& out) {
  return run_stage(resources, [&] {
    std::deque<ForwardReader> forwards;
    for (const IndexPart& part : parts) {
      forwards.push_back(ForwardReader::open(part.index));
      forwards.back().container().verify(resources);
    }
    resources.progress->start("write forward file", to.num_documents(), "documents");
    ForwardRecoder recoder(to, resources, out);
    for (std::size_t i = 0; i < parts.size(); ++i) recoder.add(parts[i].index, forwards[i], parts[i].docids);
    resources.progress->finish();
    return recoder.finish();
  });
}

}  // namespace quern
