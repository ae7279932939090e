#include <fmt/format.h>

#include "quern/io/atomic_output.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/synth_index.hpp"
#include "quern/lab/synth/twin_index.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct SynthArguments {
  CommonOptions common;
  api::IndexOptions index;
  SynthOptions synth;
  std::string df, queries, output, links, corpus;
  QueryLayout layout;
  std::uint64_t documents = 0, df_documents = 0;
  double mean_links = 20;
};

/// The orders of synthetic indexes: whether docIDs fall with the global score.
constexpr NamedValue<bool> synth_orders[] = {{"url", false, "by URL"}, {"score", true, "by decreasing global score"}};

constexpr const char* corpus_ending = "/documents.trecweb";
constexpr const char* corpus_member = corpus_ending + 1;
/// Mean length of a corpus's documents without --mean-length.
constexpr double corpus_mean_length = 200;

bool is_index(const std::string& path) {
  try {
    return kind_of_file(path) == FileKind::index;
  } catch (const Error&) {
    return false;
  }
}

void load_table(const SynthArguments& arguments, SynthOptions& options, const Resources& resources) {
  if (is_index(arguments.df)) {
    const IndexReader index = IndexReader::open(arguments.df);
    options.table = df_table_of(index, resources);
    options.analyzer = index.manifest().analyzer;
  } else {
    options.table = read_df_table(arguments.df, resources);
    options.table.documents = arguments.df_documents;
    options.analyzer = api::index_settings(arguments.index).parse.analyzer;
  }
  const std::uint64_t documents = arguments.documents > 0 ? arguments.documents : options.table.documents;
  if (documents == 0)
    throw usage_error(
        "the number of documents is unknown; use --docs, or --df-docs for as many as the table's collection has");
  options.table = scaled_to(std::move(options.table), documents);
}

void load_queries(const SynthArguments& arguments, SynthOptions& options, const Resources& resources) {
  if (arguments.queries.empty()) return;
  const auto queries =
      std::make_shared<QueryGroups>(QuerySource{arguments.queries, arguments.layout, {}}, arguments.common, resources);
  options.for_each_query = [queries, analyzer = options.analyzer](const auto& visit) {
    Analyzer analyze(analyzer);
    queries->for_each([&](const std::vector<Query>& group) {
      for (const Query& query : group) visit(analyze.terms(query.text));
    });
  };
}

/// The index of documents with given weights that --df names, if it is one.
std::optional<IndexReader> source_with_weights(const SynthArguments& arguments) {
  if (!is_index(arguments.df)) return std::nullopt;
  IndexReader index = IndexReader::open(arguments.df);
  if (!index.manifest().impacts || index.manifest().weighting) return std::nullopt;
  const SynthOptions& synth = arguments.synth;
  if (!arguments.queries.empty() || synth.mean_length > 0 || synth.pagerank || synth.order_by_score ||
      synth.clustering != SynthOptions().clustering || arguments.df_documents > 0)
    throw usage_error(
        "{} has given weights, and a twin takes terms, lengths and order from it; omit --queries, --mean-length, "
        "--pagerank, --order, --clustering and --df-docs",
        arguments.df);
  return index;
}

BuildReport imitate(const IndexReader& source, const SynthArguments& arguments, const Resources& resources, File& out) {
  TwinOptions options;
  options.documents = arguments.documents > 0 ? arguments.documents : source.num_documents();
  options.seed = arguments.synth.seed;
  options.build = api::index_settings(arguments.index).build;
  return synthesize_twin(source, options, resources, out);
}

BuildReport synthesize(const SynthArguments& arguments, const Resources& resources, File& out) {
  SynthOptions options = arguments.synth;
  const IndexSettings settings = api::index_settings(arguments.index);
  options.build = settings.build;
  options.scores.alpha = settings.order.scores.alpha;
  options.scores.pagerank_scale = settings.order.scores.pagerank_scale;
  load_table(arguments, options, resources);
  load_queries(arguments, options, resources);
  return synthesize_index(options, resources, out);
}

void make_index(const SynthArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const std::optional<IndexReader> source = source_with_weights(arguments);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report =
      source ? imitate(*source, arguments, resources, out.file()) : synthesize(arguments, resources, out.file());
  out.commit();
  show_reports(arguments.common, report, {}, arguments.output);
}

DocumentTreeOptions tree_options(const SynthArguments& arguments) {
  DocumentTreeOptions options;
  options.documents = arguments.documents;
  options.clustering = arguments.synth.clustering;
  options.mean_length = arguments.synth.mean_length > 0 ? arguments.synth.mean_length : corpus_mean_length;
  options.seed = arguments.synth.seed;
  return options;
}

void make_links(const SynthArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.links);
  const DocumentTreeOptions options = tree_options(arguments);
  check_tree_options(options);
  AtomicOutput out = AtomicOutput::file(arguments.links, arguments.common.force);
  const DocumentTree tree(options);
  const LinkGraph graph(tree, arguments.mean_links, options.seed);
  const std::uint64_t links = write_links(graph, tree.documents(), arguments.links, resources, out.file());
  out.commit();
  say(arguments.common, "quern: wrote {}: {} between {}", arguments.links, count_text(links, "link"),
      count_text(arguments.documents, "document"));
}

void make_corpus(const SynthArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.corpus);
  SynthCorpusOptions options;
  options.tree = tree_options(arguments);
  options.mean_links = arguments.mean_links;
  AtomicOutput out = AtomicOutput::folder(arguments.corpus, {corpus_member}, arguments.common.force);
  write_corpus(options, resources, out.file());
  out.commit();
  say(arguments.common, "quern: wrote {}/{}: {}", arguments.corpus, corpus_member,
      count_text(arguments.documents, "document"));
}

/// Links and corpora need --docs, since they have no table.
void check_usage(const SynthArguments& arguments) {
  if (arguments.output.empty() && arguments.links.empty() && arguments.corpus.empty())
    throw CLI::RequiredError("--output, --links or --corpus");
  if (!arguments.output.empty() && arguments.df.empty()) throw CLI::RequiredError("--df");
  if (arguments.documents == 0 && !(arguments.links.empty() && arguments.corpus.empty()))
    throw CLI::RequiredError("--docs");
}

void run(const SynthArguments& arguments) {
  check_usage(arguments);
  if (!arguments.output.empty()) make_index(arguments);
  if (!arguments.links.empty()) make_links(arguments);
  if (!arguments.corpus.empty()) make_corpus(arguments);
}

}  // namespace

void add_synth_command(CLI::App& program) {
  auto [command, arguments] = add_command<SynthArguments>(
      program, "synth", "Generate a synthetic index of any size, its links, or a corpus", run);
  SynthOptions& synth = arguments.synth;
  add_input_option(command, "--df", arguments.df, "FILE|INDEX",
                   "Document frequencies: lines term<TAB>df, plain or compressed; or an index to imitate");
  add_number_option(command, "--docs", arguments.documents, "N",
                    "Documents to generate; document frequencies are scaled to them", 1, end_docid - 1);
  add_number_option(command, "--df-docs", arguments.df_documents, "N",
                    "Documents in the collection that --df counts (default: --docs)", 1, end_docid - 1);
  add_number_option(command, "--clustering", synth.clustering, "C",
                    "How strongly terms cluster in sites and directories, from 0 to 1", 0.0, 1.0);
  add_input_option(command, "-q,--queries", arguments.queries, "FILE",
                   "Queries whose terms should co-occur in documents");
  add_query_layout_options(command, arguments.layout, "Format of the queries");
  add_number_option(command, "--mean-length", synth.mean_length, "X",
                    "Mean tokens per document (default: estimated from --df)", 1.0, max_mean_length);
  add_number_option(command, "--seed", synth.seed, "N", "Seed of the random numbers");
  add_value_option(command, "--order", synth.order_by_score, synth_orders,
                   with_choices("Order of docIDs:", synth_orders));
  command.add_flag("--pagerank", synth.pagerank, "Store a synthetic PageRank");
  add_number_option(command, "--alpha", arguments.index.alpha, "X", "Weight of PageRank in global scores", 0.0, 1.0);
  add_pagerank_scale_option(command, arguments.index.pagerank_scale);
  add_analyzer_options(command, arguments.index);
  add_build_options(command, arguments.index);
  add_output_options(command, arguments.common, arguments.output, "index");
  command.get_option("--output")->required(false);
  add_output_option(
      command, "--links", arguments.links, "FILE",
      "Write links between the documents: lines from<TAB>to with docnos, compressed if the name ends in .gz or .zst");
  add_number_option(command, "--mean-links", arguments.mean_links, "X", "Mean links per document", 0.0, 1e4);
  add_output_option(command, "--corpus", arguments.corpus, "FOLDER",
                    "Write TREC web documents of synthetic words, with links", {corpus_ending});
  set_notes(
      command, {"--links and --corpus describe the same documents as the index with the same --docs and --seed."},
      {{"quern synth --df df.tsv.gz --df-docs 25205179 --docs 2520518 -o tenth.quern"},
       {"quern synth --df my.quern -q topics.txt -o twin.quern", "An index like my.quern, without its text"},
       {"quern synth --df weights.quern --docs 8840000 -o larger.quern", "A larger index with the same given weights"},
       {"quern synth --df df.tsv --docs 1000000 --order score -o scored.quern"},
       {"quern synth --docs 1000000 --links links.tsv.zst"},
       {"quern synth --docs 10000 --corpus synthetic && quern index synthetic -o synthetic.quern"}});
}

}  // namespace quern::tools
