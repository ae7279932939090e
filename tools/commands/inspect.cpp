#include <fmt/format.h>

#include "quern/formats/collection.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/index/list_source.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/page_links.hpp"
#include "quern/text/analyzer.hpp"

#include "command.hpp"
#include "commands/inspect_contents.hpp"
#include "figures.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct InspectArguments {
  CommonOptions common;
  std::string path;
  std::vector<std::string> terms, tokens_of, texts_of;
  bool config = false, documents = false, links = false, lists = false;
};

Json sections_json(const ContainerReader& container) {
  Json sections;
  for (const SectionInfo& section : container.sections()) sections[section.name] = section.size;
  return sections;
}

/// Figures as "key value" lines for people; nested ones indented.
void print_entries(const Json& json, const std::string& indent = "") {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      print(fmt::format("{}{}\n", indent, key));
      print_entries(value, indent + "  ");
    } else if (value.is_number_float()) {
      print(fmt::format("{}{:<{}} {:.3f}\n", indent, key, 28 - indent.size(), value.get<double>()));
    } else {
      print(fmt::format("{}{:<{}} {}\n", indent, key, 28 - indent.size(),
                        value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

/// Sizes of the files that lie beside an index in its folder.
Json files_beside_json(const IndexReader& index) {
  Json files = Json::object();
  for (const std::string& member : index_members()) {
    if (member != index_member && has_member(index.name(), member.c_str()))
      files[member] = File::open_regular(member_path(index.name(), member.c_str())).size();
  }
  return files;
}

Json index_file_json(const IndexReader& index) {
  const IndexManifest& manifest = index.manifest();
  const IndexFigures figures = index_figures(index);
  Json json = {{"kind", "index"},
               {"documents", manifest.documents},
               {"empty_documents", manifest.empty_documents},
               {"terms", manifest.terms},
               {"postings", manifest.postings},
               {"tokens", manifest.tokens},
               {"codec", manifest.codec},
               {"block_size", manifest.codec_options.block_size},
               {"order", manifest.order},
               {"k1", manifest.bm25.k1},
               {"b", manifest.bm25.b},
               {"stemmer", manifest.analyzer.stemmer},
               {"stopwords", manifest.analyzer.stopwords_name},
               {"postings_bytes", figures.postings_bytes},
               {"docid_bits_per_posting", figures.docid_bits_per_posting},
               {"freq_bits_per_posting", figures.freq_bits_per_posting},
               {"block_max_bytes", figures.block_max_bytes},
               {"block_max_bits_per_posting", figures.block_max_bits_per_posting},
               {"impact_bits", manifest.quantize_bits},
               {"impact_bytes", figures.impact_bytes},
               {"impact_bits_per_posting", figures.impact_bits_per_posting},
               {"lexicon_bytes", figures.lexicon_bytes},
               {"lexicon_bytes_per_term", figures.lexicon_bytes_per_term},
               {"blocks", manifest.blocks},
               {"lists_in_one_block", figures.lists_in_one_block},
               {"file_bytes", figures.file_bytes},
               {"sections", sections_json(index.container())}};
  if (manifest.weighting) {
    json["weights"] = to_json(*manifest.weighting);
    json["weights"].update(to_json(*manifest.impacts));
  } else if (manifest.impacts) {
    json["given_impacts"] = to_json(*manifest.impacts);
  }
  if (!manifest.field_names.kept.empty()) json["kept_fields"] = manifest.field_names.kept;
  if (manifest.scores) json["scores"] = to_json(*manifest.scores);
  if (manifest.shard)
    json["shard"] = {{"number", manifest.shard->number},
                     {"count", manifest.shard->count},
                     {"first_docid", manifest.docid_base},
                     {"order_hash", manifest.shard->order_hash},
                     {"statistics_hash", manifest.shard->statistics_hash}};
  Json lengths = Json::object();
  for (std::size_t i = 0; i < figures.lengths.size(); ++i)
    lengths[std::to_string(std::uint64_t{1} << i)] = {{"lists", figures.lengths[i].lists},
                                                      {"postings", figures.lengths[i].postings}};
  json["list_lengths"] = lengths;
  if (const Json beside = files_beside_json(index); !beside.empty()) json["files_beside"] = beside;
  return json;
}

Json collection_json(const CollectionReader& collection) {
  const CollectionManifest& manifest = collection.manifest();
  Json json = {{"kind", "collection"},
               {"documents", manifest.documents},
               {"empty_documents", manifest.empty_documents},
               {"documents_without_url", manifest.documents_without_url},
               {"terms", manifest.terms},
               {"postings", manifest.postings},
               {"tokens", manifest.tokens},
               {"links", manifest.links},
               {"chunks", collection.num_chunks()},
               {"stemmer", manifest.analyzer.stemmer},
               {"stopwords", manifest.analyzer.stopwords_name},
               {"file_bytes", collection.container().file().size()},
               {"sections", sections_json(collection.container())}};
  if (manifest.impacts) json["given_impacts"] = to_json(*manifest.impacts);
  if (manifest.title_tokens) json["title_tokens"] = *manifest.title_tokens;
  if (manifest.text_bytes) json["text_bytes"] = *manifest.text_bytes;
  if (collection.has_fields()) json["kept_fields"] = manifest.field_names.kept;
  return json;
}

Json texts_json(const TextsReader& texts) {
  const TextsManifest& manifest = texts.manifest();
  return {{"kind", "texts"},
          {"documents", manifest.documents},
          {"text_bytes", manifest.text_bytes},
          {"frames", texts.num_frames()},
          {"index_hash", manifest.index_hash},
          {"file_bytes", texts.container().file().size()},
          {"sections", sections_json(texts.container())}};
}

Json fields_json(const FieldsReader& fields) {
  const FieldsManifest& manifest = fields.manifest();
  return {{"kind", "fields"},
          {"documents", manifest.documents},
          {"fields", manifest.names},
          {"index_hash", manifest.index_hash},
          {"file_bytes", fields.container().file().size()},
          {"sections", sections_json(fields.container())}};
}

Json order_json(const OrderReader& order) {
  const OrderManifest& manifest = order.manifest();
  Json json = {{"kind", "order"},
               {"documents", manifest.documents},
               {"by", name_of_value(order_names, manifest.options.by)},
               {"seed", manifest.options.seed},
               {"file_bytes", order.container().file().size()},
               {"sections", sections_json(order.container())}};
  if (manifest.has_pagerank || manifest.has_global_scores) json["scores"] = to_json(manifest.options.scores);
  for (std::size_t i = 0; i < manifest.shards.size(); ++i)
    json["shards"].push_back({{"first_docid", manifest.shard(i).first}, {"documents", manifest.shard(i).size()}});
  return json;
}

Json statistics_json(const StatisticsReader& statistics) {
  const StatisticsManifest& manifest = statistics.manifest();
  const CollectionManifest& counts = manifest.collection;
  Json json = {{"kind", "statistics"},
               {"splits", statistics.splits().size()},
               {"documents", counts.documents},
               {"empty_documents", counts.empty_documents},
               {"terms", counts.terms},
               {"postings", counts.postings},
               {"tokens", counts.tokens},
               {"duplicates", manifest.duplicates},
               {"documents_hash", hash_text(manifest.documents_hash)},
               {"file_bytes", statistics.container().file().size()},
               {"sections", sections_json(statistics.container())}};
  if (counts.title_tokens) json["title_tokens"] = *counts.title_tokens;
  return json;
}

Json scales_json(const Scales& scales) {
  return {{"kind", "scales"},   {"splits", scales.splits.size()}, {"k1", scales.bm25.k1},
          {"b", scales.bm25.b}, {"quantize_top", scales.top},     {"statistics_hash", scales.statistics_hash}};
}

Json plan_json(const PlanReader& plan) {
  Json json = {{"kind", "plan"}};
  json.update(api::figures_of(plan.manifest()));
  json["file_bytes"] = plan.container().file().size();
  json["sections"] = sections_json(plan.container());
  return json;
}

Json forward_json(const ForwardReader& forward) {
  const ForwardManifest& manifest = forward.manifest();
  Json json = {{"kind", "forward"}, {"documents", manifest.documents}};
  std::uint64_t places = manifest.counts.phrase_ends;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
    json[std::string(document_stream_names[stream]) + "_tokens"] = manifest.counts.tokens[stream];
    places += manifest.counts.tokens[stream];
  }
  const std::uint64_t bytes = forward.container().file().size();
  json["phrase_ends"] = manifest.counts.phrase_ends;
  json["segments"] = manifest.counts.segments;
  json["literals"] = manifest.counts.literals;
  json["bits_per_place"] = places == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(places);
  json["file_bytes"] = bytes;
  json["sections"] = sections_json(forward.container());
  return json;
}

void print_json_or_figures(const InspectArguments& arguments, const Json& json) {
  if (arguments.common.json)
    print_json(json);
  else
    print_entries(json);
}

void print_documents(const IndexReader& index, bool json) {
  // As query does: damaged data must not be printed.
  index.container().check_section("lengths");
  index.check_document_scores();
  const auto at = [](std::span<const float> scores, docid_t docid) { return scores.empty() ? 0.0f : scores[docid]; };
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const std::string_view docno = index.docno(docid);
    const std::string url = index.text(docid).url;
    const std::uint32_t length = index.length(docid);
    const float pagerank = at(index.pagerank(), docid), global_score = at(index.global_scores(), docid);
    print(json ? fmt::format(
                     "{{\"docid\":{},\"docno\":{},\"url\":{},\"length\":{},\"pagerank\":{},\"global_score\":{}}}\n",
                     docid, json_text(docno), json_text(url), length, pagerank, global_score)
               : fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", docid, docno, url, length, pagerank, global_score));
  }
}

/// A term's posting list, written as it is decoded: docID, frequency, docno, and the quantized impact if it is
/// stored. A weight that the corpus gave is both; it stands for the frequency alone.
void print_list(const IndexReader& index, const std::string& term, bool json) {
  const auto list = index.find(term);
  if (!list)
    throw InvalidArgument(
        "{}: no term '{}'; terms are looked up as stored: quern analyze --index shows how text becomes terms",
        index.name(), term);
  std::optional<ListImpacts> impacts;
  if (index.quantizer() && !index.manifest().impacts) impacts.emplace(index, *list);
  const std::string name = json_text(term);
  print(json ? fmt::format("{{\"term\":{},\"df\":{},\"cf\":{},\"blocks\":{},\"postings\":[", name, list->df, list->cf,
                           list->num_blocks(index.block_size()))
             : fmt::format("# {} df {} cf {} blocks {}\n# docID\t{}\tdocno{}\n", term, list->df, list->cf,
                           list->num_blocks(index.block_size()), index.manifest().impacts ? "weight" : "frequency",
                           impacts ? "\timpact" : ""));
  std::uint64_t place = 0;
  for (PostingCursor cursor(index, *list); cursor.docid() != end_docid; cursor.next(), ++place) {
    const docid_t docid = cursor.docid();
    const freq_t freq = cursor.freq();
    const std::string value =
        impacts ? fmt::format("{}{}", json ? ',' : '\t', impacts->at(place, docid, freq)) : std::string();
    print(json ? fmt::format("{}[{},{}{}]", place > 0 ? "," : "", docid, freq, value)
               : fmt::format("{}\t{}\t{}{}\n", docid, freq, index.docno(docid), value));
  }
  if (json) print("]}\n");
}

/// The documents with these docnos.
std::vector<docid_t> docids_of(const IndexReader& index, const std::vector<std::string>& docnos) {
  std::vector<docid_t> docids;
  for (const std::string& docno : docnos) {
    const auto docid = index.find_docno(docno);
    if (!docid)
      throw InvalidArgument("{}: no document '{}'; quern inspect --docs lists the documents", index.name(), docno);
    docids.push_back(*docid);
  }
  return docids;
}

/// The documents' texts, or with JSON an object in a line for each; printed as they are decompressed.
void print_texts(const IndexReader& index, const std::vector<std::string>& docnos, bool json) {
  const TextsReader texts = TextsReader::open_beside(index);
  TextBuffers buffers;
  for (const docid_t docid : docids_of(index, docnos)) {
    if (json) print(fmt::format("{{\"docid\":{},\"docno\":{},\"text\":\"", docid, json_text(index.docno(docid))));
    texts.read(docid, buffers, [json](std::string_view piece) {
      if (!json) return print(piece);
      const std::string quoted = json_text(piece);
      print(std::string_view(quoted).substr(1, quoted.size() - 2));
    });
    if (json) print("\"}\n");
  }
}

void inspect_plan(const InspectArguments& arguments) {
  const PlanReader plan = PlanReader::open(arguments.path);
  if (!arguments.lists) return print_json_or_figures(arguments, plan_json(plan));
  for (const CachedList& list : plan.load().lists)
    print(fmt::format("{}\t{}\t{}\n", list.term, list.blocks, list.bytes));
}

void inspect_index(const InspectArguments& arguments) {
  const IndexReader index = IndexReader::open(arguments.path);
  if (!arguments.tokens_of.empty()) {
    const ForwardReader forward = ForwardReader::open(index);
    for (const docid_t docid : docids_of(index, arguments.tokens_of))
      print_tokens(index, forward, docid, arguments.common.json);
    return;
  }
  if (!arguments.texts_of.empty()) return print_texts(index, arguments.texts_of, arguments.common.json);
  if (arguments.config)
    return print(config_text(index.manifest(), {.forward = has_member(arguments.path, forward_member),
                                                .texts = has_member(arguments.path, texts_member)}));
  if (arguments.documents) return print_documents(index, arguments.common.json);
  for (const std::string& term : arguments.terms) print_list(index, term, arguments.common.json);
  if (arguments.terms.empty()) print_json_or_figures(arguments, index_file_json(index));
}

void inspect_links(const InspectArguments& arguments, const Resources& resources) {
  const CollectionReader collection = CollectionReader::open(arguments.path);
  const bool json = arguments.common.json;
  const LinkCounts counts = list_links(collection, resources, [json](std::string_view from, std::string_view to) {
    if (!json) print(fmt::format("{}\t{}\n", from, to));
  });
  if (json) return print_json(api::figures_of(counts));
  api::remark_on(counts, false, remarks(arguments.common));
}

void inspect_model(const InspectArguments& arguments) {
  if (arguments.config || arguments.documents || arguments.links || arguments.lists || !arguments.terms.empty() ||
      !arguments.tokens_of.empty() || !arguments.texts_of.empty())
    throw InvalidArgument(arguments.path + ": is a learned model; inspect only prints a summary of it");
  print_json_or_figures(arguments, model_json(read_ranker(arguments.path), !arguments.common.json));
}

/// `what` was asked of a file, and only one of kind `needed` has it.
void require_kind(const std::string& path, FileKind kind, FileKind needed, const std::string& what) {
  const auto with_article = [](FileKind each) {
    const std::string name(kind_name(each));
    return (name == "index" || name == "order" ? "an " : "a ") + name;
  };
  if (kind != needed)
    throw InvalidArgument("{}: is {}; {} needs {}", path, with_article(kind), what, with_article(needed));
}

void check_kind(const InspectArguments& arguments, FileKind kind) {
  if (arguments.links) require_kind(arguments.path, kind, FileKind::collection, "--links");
  if (arguments.lists) require_kind(arguments.path, kind, FileKind::plan, "--lists");
  if (arguments.config) require_kind(arguments.path, kind, FileKind::index, "--config");
  if (arguments.documents) require_kind(arguments.path, kind, FileKind::index, "--docs");
  if (!arguments.tokens_of.empty()) require_kind(arguments.path, kind, FileKind::index, "--tokens");
  if (!arguments.texts_of.empty()) require_kind(arguments.path, kind, FileKind::index, "--text");
  if (!arguments.terms.empty()) require_kind(arguments.path, kind, FileKind::index, "printing posting lists");
}

void run(const InspectArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  if (is_model_file(arguments.path)) return inspect_model(arguments);
  const FileKind kind = kind_of_file(arguments.path);
  check_kind(arguments, kind);
  if (arguments.links) return inspect_links(arguments, resources);
  if (kind == FileKind::plan) return inspect_plan(arguments);
  if (kind == FileKind::index) return inspect_index(arguments);
  if (kind == FileKind::forward)
    return print_json_or_figures(arguments,
                                 forward_json(ForwardReader(ContainerReader::open(arguments.path, FileKind::forward))));
  if (kind == FileKind::texts) return print_json_or_figures(arguments, texts_json(TextsReader::open(arguments.path)));
  if (kind == FileKind::fields)
    return print_json_or_figures(arguments, fields_json(FieldsReader::open(arguments.path)));
  if (kind == FileKind::statistics)
    return print_json_or_figures(arguments, statistics_json(StatisticsReader::open(arguments.path)));
  if (kind == FileKind::scales)
    return print_json_or_figures(arguments,
                                 scales_json(read_scales(ContainerReader::open(arguments.path, FileKind::scales))));
  if (kind == FileKind::collection)
    return print_json_or_figures(arguments, collection_json(CollectionReader::open(arguments.path)));
  print_json_or_figures(arguments, order_json(OrderReader::open(arguments.path)));
}

}  // namespace

void add_inspect_command(CLI::App& program) {
  auto [command, arguments] = add_command<InspectArguments>(
      program, "inspect", "Show statistics of a Quern file or a learned model, or posting lists", run);
  add_input_option(command, "PATH", arguments.path, "",
                   "An index, collection, order or plan, a file next to an index, or a learned model")
      ->required();
  command.add_option(
      "TERM", arguments.terms,
      "Terms whose posting lists to print: docID, frequency or given weight, docno and, if stored, quantized impact");
  command.add_flag("--config", arguments.config,
                   "Print the settings that rebuild this index, for quern index --config");
  command.add_flag("--docs", arguments.documents,
                   "Print docID, docno, URL, length, PageRank and global score of every document");
  command.add_flag(
      "--links", arguments.links,
      "Print the distinct links between a collection's documents as from_url<TAB>to_url; with --json, only counts");
  command.add_flag("--lists", arguments.lists,
                   "Print, for each list in a plan, the term number, the cached blocks and their bytes");
  add_option(command, "--tokens", arguments.tokens_of, "DOCNO",
             "Print the tokens of the document with this docno, a line for each phrase, from an index built with "
             "--forward; may be repeated")
      ->allow_extra_args(false);
  add_option(command, "--text", arguments.texts_of, "DOCNO",
             "Print the text of the document with this docno, from an index built with --store-text; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--json", arguments.common.json, "Print JSON");
  const char* const contents[] = {"--config", "--docs", "--lists", "--links", "--tokens", "--text", "TERM"};
  for (const char* const one : contents)
    for (const char* const other : contents)
      if (one != other) command.get_option(one)->excludes(other);
  add_common_options(command, arguments.common);
  set_notes(
      command,
      {"The terms of a collection include those of URLs and link texts; an index has only those with postings, which "
       "are of titles and bodies."},
      {{"quern inspect my.quern --json"},
       {"quern inspect my.quern mill water"},
       {"quern inspect my.quern --tokens D-17"},
       {"quern inspect my.quern --config > my.conf"},
       {"quern inspect my.quern --text D-17", "The text of a document, if the index was built with --store-text"},
       {"quern inspect my.collection --links > links.tsv"},
       {"quern inspect lambdamart.txt"}});
}

}  // namespace quern::tools
