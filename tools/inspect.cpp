#include <fmt/format.h>

#include <memory>

#include "quern/core/size_text.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/index_figures.hpp"
#include "quern/query/posting_cursor.hpp"
#include "quern/text/analyzer.hpp"

#include "command.hpp"
#include "inspect_config.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  std::string path;
  std::vector<std::string> terms;
  bool config = false, documents = false;
};

Json sections_json(const ContainerReader& container) {
  Json sections;
  for (const SectionInfo& section : container.sections()) sections[section.name] = section.size;
  return sections;
}

/// Figures as "key value" lines for people; nested ones indented.
void print_figures(const Json& json, const std::string& indent = "") {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      print(fmt::format("{}{}\n", indent, key));
      print_figures(value, indent + "  ");
    } else if (value.is_number_float()) {
      print(fmt::format("{}{:<{}} {:.3f}\n", indent, key, 28 - indent.size(), value.get<double>()));
    } else {
      print(fmt::format("{}{:<{}} {}\n", indent, key, 28 - indent.size(),
                        value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

Json index_json(const IndexReader& index) {
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
               {"lexicon_bytes", figures.lexicon_bytes},
               {"lexicon_bytes_per_term", figures.lexicon_bytes_per_term},
               {"blocks", manifest.blocks},
               {"lists_in_one_block", figures.lists_in_one_block},
               {"file_bytes", figures.file_bytes},
               {"sections", sections_json(index.container())}};
  Json lengths = Json::object();
  for (std::size_t i = 0; i < figures.lengths.size(); ++i)
    lengths[std::to_string(std::uint64_t{1} << i)] = {{"lists", figures.lengths[i].lists},
                                                      {"postings", figures.lengths[i].postings}};
  json["list_lengths"] = lengths;
  return json;
}

Json collection_json(const CollectionReader& collection) {
  const CollectionManifest& manifest = collection.manifest();
  return {{"kind", "collection"},
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
}

Json order_json(const OrderReader& order) {
  return {{"kind", "order"},
          {"documents", order.manifest().documents},
          {"by", order.manifest().options.by},
          {"seed", order.manifest().options.seed},
          {"file_bytes", order.container().file().size()},
          {"sections", sections_json(order.container())}};
}

void print_json_or_figures(const Arguments& arguments, const Json& json) {
  if (arguments.common.json) {
    print(json.dump(1) + "\n");
  } else {
    print_figures(json);
  }
}

void print_documents(const IndexReader& index) {
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    print(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", docid, index.docno(docid), index.text(docid).url, index.length(docid),
                      index.pagerank(docid), index.global_score(docid)));
  }
}

/// A term's posting list, written as it is decoded.
void print_list(const IndexReader& index, const std::string& term, bool json) {
  const auto list = index.find(term);
  if (!list)
    throw InvalidArgument(fmt::format(
        "{}: no term '{}' (terms are looked up as they are stored: see quern analyze --index)", index.name(), term));
  const std::string name = Json(term).dump(-1, ' ', false, Json::error_handler_t::replace);
  print(json ? fmt::format("{{\"term\":{},\"df\":{},\"cf\":{},\"blocks\":{},\"postings\":[", name, list->df, list->cf,
                           list->num_blocks(index.block_size()))
             : fmt::format("# {} df {} cf {} blocks {}\n", term, list->df, list->cf,
                           list->num_blocks(index.block_size())));
  bool first = true;
  for (PostingCursor cursor(index, *list); cursor.docid() != end_docid; cursor.next()) {
    print(json ? fmt::format("{}[{},{}]", first ? "" : ",", cursor.docid(), cursor.freq())
               : fmt::format("{}\t{}\t{}\n", cursor.docid(), cursor.freq(), index.docno(cursor.docid())));
    first = false;
  }
  if (json) print("]}\n");
}

void inspect_index(const Arguments& arguments) {
  const IndexReader index = IndexReader::open(arguments.path);
  if (arguments.config) return print(config_text(index.manifest()));
  if (arguments.documents) return print_documents(index);
  for (const std::string& term : arguments.terms) print_list(index, term, arguments.common.json);
  if (arguments.terms.empty()) print_json_or_figures(arguments, index_json(index));
}

void run(const Arguments& arguments) {
  make_resources(arguments.common);
  const FileKind kind = kind_of_file(arguments.path);
  const bool index_only = arguments.config || arguments.documents || !arguments.terms.empty();
  if (kind == FileKind::index || index_only) return inspect_index(arguments);
  if (kind == FileKind::collection)
    return print_json_or_figures(arguments, collection_json(CollectionReader::open(arguments.path)));
  print_json_or_figures(arguments, order_json(OrderReader::open(arguments.path)));
}

}  // namespace

void add_inspect_command(CLI::App& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand("inspect", "Figures of a Quern file, or posting lists");
  command->add_option("PATH", arguments->path, "An index, collection or order")->type_name("")->required();
  command->add_option("TERM", arguments->terms, "Terms whose posting lists to print, as docID, frequency, docno");
  command->add_flag("--config", arguments->config,
                    "Print the settings that make this index again, for quern index --config");
  command->add_flag("--docs", arguments->documents,
                    "Print docID, docno, URL, length, PageRank and global score of all documents");
  command->add_flag("--json", arguments->common.json, "Print JSON");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nExamples:\n  quern inspect my.quern --json\n  quern inspect my.quern mill water\n"
      "  quern inspect my.quern --config > my.conf");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
