#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quern/cache/cache_plan.hpp"
#include "quern/collection/parse_corpus.hpp"
#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/evaluation/run_comparison.hpp"
#include "quern/features/feature_list.hpp"
#include "quern/filter/document_filter.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/queries/qrels.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/query_vector.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/measured_points.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/forward/build_forward.hpp"
#include "quern/index/build_fields.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/index/verify_texts.hpp"
#include "quern/interchange/import_index.hpp"
#include "quern/interchange/interchange_format.hpp"
#include "quern/intersect/intersect.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"
#include "quern/order/order.hpp"
#include "quern/query/query_engine.hpp"
#include "quern/rerank/rerank_topics.hpp"
#include "quern/synth/synth_corpus.hpp"
#include "quern/synth/synth_index.hpp"
#include "quern/text/snippet.hpp"

#include "cli/small_corpus.hpp"
#include "corpus/temporary_folder.hpp"
#include "failing_calls/failing_new.hpp"

/// Calls the library's public functions on a tiny corpus, and lets their allocations fail one by one: each call must
/// work, or throw an exception of the library's own, and leave no file behind; allocations that are still alive
/// afterwards are printed. With --threads it counts the threads that they start instead.
namespace quern::testing {
namespace {

/// A call of one of the library's public functions.
struct EntryPoint {
  const char* name;
  std::function<void()> call;
  int own_threads = 0;  ///< threads that it starts for other things than computing
};

class EntryPoints {
 public:
  explicit EntryPoints(unsigned threads) {
    resources_.threads = threads;
    resources_.tmp_folder = ".";
    std::filesystem::current_path(folder_.path(""));
    resources_.progress = nullptr;
    for (const EntryPoint& entry : all()) entry.call();  // each reads what those before it wrote
  }

  std::vector<EntryPoint> all() {
    return {{"parse", [this] { parse(); }, 1},
            {"order by score", [this] { write_order_by(OrderBy::score); }},
            {"order by bisection", [this] { write_order_by(OrderBy::bisection); }},
            {"order by url", [this] { write_order_by(OrderBy::url); }},
            {"build", [this] { build(); }},
            {"texts", [this] { write_texts(); }},
            {"read texts", [this] { read_texts(); }},
            {"snippets", [this] { make_snippet(); }},
            {"fields", [this] { write_fields(); }},
            {"filter", [this] { filter(); }},
            {"forward file", [this] { write_forward(); }},
            {"rerank", [this] { rerank(); }},
            {"verify", [this] { verify(); }},
            {"read a collection", [this] { read_collection(); }},
            {"look up in an index", [this] { look_up(); }},
            {"query engine", [this] { search(); }},
            {"given impacts", [this] { use_weights(); }, 1},
            {"intersect", [this] { intersect(); }},
            {"plan", [this] { plan(); }},
            {"simulate", [this] { simulate(); }},
            {"export and import ciff", [this] { exchange("ciff"); }},
            {"export and import ds2i", [this] { exchange("ds2i"); }},
            {"read queries", [] { parse_queries("1\tmill\n2\twater wheel\n", QueryFormat::automatic, "log"); }},
            {"read queries with weights",
             [] {
               const QueryFile file =
                   parse_queries("{\"id\": 1, \"vector\": {\"a-term-that-is-too-long-for-a-small-text\": 2}}\n",
                                 QueryFormat::vector, "log");
               query_vector_text(parse_query_vector(file.queries.front().text, "query"));
             }},
            {"read tables", [this] { read_tables(); }},
            {"evaluate runs", [this] { evaluate(); }},
            {"output of a long name", [this] { write_long_name(); }},
            {"synth index", [this] { synthesize(); }},
            {"synth corpus", [this] { synthesize_corpus(); }}};
  }

  /// Names of temporary files that are left.
  std::set<std::string> leftovers() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("")))
      if (const std::string name = entry.path().filename(); name.starts_with(".")) names.insert(name);
    return names;
  }

 private:
  static constexpr std::string_view queries_[] = {"mill", "water mill", "stone wheel mill", "nothing"};

  /// Names are short, so that texts of them are not allocated: this program works in the folder.
  template <class Write>
  void write_file(const char* name, Write&& write) {
    AtomicOutput out = AtomicOutput::file(name, true);
    write(out.file());
    out.commit();
  }
  CollectionReader collection() const { return CollectionReader::open("collection"); }
  IndexReader index() const { return IndexReader::open("index"); }

  void parse() {
    ParseOptions options;
    {
      const OwnWork own;
      options.corpus = {corpus_};
      options.reader.field_names.kept = {"lang"};
    }
    options.analyzer = make_analyzer_options("porter2", "english");
    options.store_text = true;
    write_file("collection", [&](File& out) { parse_corpus(options, resources_, out); });
  }

  void write_order_by(OrderBy by) {
    OrderOptions options;
    options.by = by;
    const CollectionReader from = collection();
    from.container().verify(resources_);
    const DocumentOrder order = make_order(from, options, {}, resources_);
    write_file("order", [&](File& out) { write_order(out, order, options, from); });
  }

  void build() {
    const OrderReader order = OrderReader::open("order");
    BuildOptions options;
    options.quantize_bits = 8;
    write_file("index", [&](File& out) {
      build_index(collection(), order.load(), order.manifest().options, options, resources_, out);
    });
  }

  void write_texts() {
    const DocumentOrder order = OrderReader::open("order").load();
    const std::string hash = index_hash();
    write_file("texts.quern", [&](File& out) { build_texts(collection(), order, hash, resources_, out); });
  }

  void make_snippet() {
    SnippetMaker maker("water mill", analyzer_);
    maker.add("The water of a mill in a town whose name is longer than others");
    maker.finish();
  }

  void write_fields() {
    const DocumentOrder order = OrderReader::open("order").load();
    const std::string hash = index_hash();
    write_file(fields_member, [&](File& out) { build_fields(collection(), order, hash, resources_, out); });
  }

  void filter() {
    const IndexReader reader = index();
    const FieldsReader fields = FieldsReader::open_beside(reader);
    fields.container().verify(resources_);
    fields.verify_contents(resources_);
    evaluate_filter(parse_filter("not (has lang or url^='http://none' and docno in (M-1, M-2))"), reader, &fields,
                    resources_);
    const auto list = with_own_errors([] { return ByteSource::of_memory("list", "M-1\nM-9\n"); });
    read_docno_list(*list, reader, resources_);
  }

  std::string index_hash() {
    const OwnWork own;
    return hash_text(index().container().content_hash());
  }

  void write_forward() {
    const DocumentOrder order = OrderReader::open("order").load();
    const auto target = [&] {
      const OwnWork own;
      return ForwardTarget{order.documents, index_hash()};
    }();
    write_file(forward_member, [&](File& out) { build_forward(collection(), target, resources_, out); });
  }

  void rerank() {
    const IndexReader reader = index();
    const ForwardReader forward = ForwardReader::open(reader);
    forward.verify_contents(reader, resources_);
    std::vector<TopicResults> topics;
    ModelFile file;
    {
      const OwnWork own;
      topics = {{"1", "mill water unknown", {{0, 1.0f}, {1, 0.5f}}}};
      file = {"model", "## Coordinate Ascent\n28:-1.0 1:0.5\n"};
    }
    const Reranker reranker(reader, forward, bind_features(parse_ranker(file), select_features("all"), file.name),
                            "model");
    rerank_topics(reranker, topics, 2, resources_);
  }

  void read_texts() {
    const IndexReader reader = index();
    const TextsReader texts = TextsReader::open_beside(reader);
    TextBuffers buffers;
    for (docid_t docid = 0; docid < texts.num_documents(); ++docid) texts.read(docid, buffers, [](std::string_view) {});
    texts.container().verify(resources_);
    verify_texts(texts, reader, resources_);
  }

  void verify() {
    collection().verify_contents(resources_);
    const IndexReader reader = index();
    reader.container().verify(resources_);
    verify_index(reader, resources_);
  }

  void read_collection() {
    const CollectionReader from = collection();
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < from.num_chunks(); ++chunk) {
      from.documents(chunk, buffers);
      from.forward(chunk, buffers);
      from.links(chunk, buffers, [](std::uint32_t, std::string_view, std::string_view) {});
      from.texts(chunk, buffers);
      from.fields(chunk, buffers);
    }
    from.lengths();
  }

  void look_up() {
    const IndexReader reader = index();
    for (std::uint64_t block = 0; block < reader.num_lexicon_blocks(); ++block)
      reader.for_each_list(block, [](std::string_view, const PostingList&) {});
    for (const std::string_view term : {"mill", "unknown"}) reader.find(term);
    for (term_t number = 0; number < reader.manifest().terms; ++number) {
      reader.list(number);
      reader.term(number);
    }
    for (docid_t docid = 0; docid < reader.num_documents(); ++docid) {
      reader.find_docno(reader.docno(docid));
      reader.text(docid);
    }
    reader.check_document_scores();
    kind_of_file("index");
  }

  void read_tables() const {
    const auto source = [this](const char* text) {
      const OwnWork own;
      return ByteSource::of_memory(long_name_, text);
    };
    read_links(*source("http://a.example/first\thttp://a.example/second\n"), [](std::string_view, std::string_view) {});
    read_scores(*source("http://a.example/first 0.5\n"), [](const ScoreLine&) {});
    parse_measured_points("c,1,2\nt,1,2\ndq,1,2\n", long_name_);
    const auto model = [this](const char* text) {
      const OwnWork own;
      return ModelFile{long_name_, text};
    };
    parse_ranker(model("0:[a<1] yes=1,no=2\n1:leaf=1\n2:leaf=2\n"));
    parse_ranker(
        model("[ranker]\nversion = 1\n[inputs]\nlinear = a\ntree = b <= 1 ? 1 : 2\n[layer.1]\nweights = 1 2\n"));
    parse_query_times(
        "#index\t0123456789abcdef\n"
        "query\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing\n"
        "1\tgpu\tan-algorithm-with-a-long-name\trange\t10\t1\t2.5\t1\t2\t0\t2\t1\t0\n",
        long_name_);
    parse_run("1 Q0 a-docno-that-is-too-long-for-a-small-text 1 2.5 tag\n", long_name_);
    parse_qrels("1 0 a-docno-that-is-too-long-for-a-small-text 1\n", long_name_);
    read_run(*source("1 Q0 a-docno-that-is-too-long-for-a-small-text 1 2.5 tag\n"),
             [](const RunLineText&, std::uint64_t) {});
    read_qrels(*source("1 0 a-docno-that-is-too-long-for-a-small-text 1\n"),
               [](const JudgementLine&, std::uint64_t) {});
  }

  void evaluate() const {
    const auto source = [](const char* name, const char* text) {
      const OwnWork own;
      return ByteSource::of_memory(name, text);
    };
    EvaluationOptions options;
    options.measures = comparable_measures(std::move(options.measures));
    RunEvaluator evaluator(*source("qrels", "1 0 a 1\n1 0 b 0\n2 0 a-docno-that-is-too-long-for-a-small-text 2\n"),
                           std::move(options), resources_);
    evaluator.add_run(*source("one", "1 Q0 a 1 2 tag\n1 Q0 c 2 1 tag\n2 Q0 b 1 1 tag\n3 Q0 b 1 1 tag\n"));
    evaluator.add_run(*source("other", "2 Q0 a-docno-that-is-too-long-for-a-small-text 1 1 tag\n1 Q0 b 2 1 tag\n"));
    compare_runs(evaluator.finish(), {});
  }

  void write_long_name() const {
    AtomicOutput out = AtomicOutput::file(long_name_, true);
    out.commit();
  }

  void search() {
    const IndexReader reader = index();
    const QueryEngine engine(reader, {}, resources_.threads);
    BatchSteps steps;
    steps.take = [](std::size_t, const QueryAnswer&) {};
    for (const QueryAlgorithm& algorithm : all_algorithms())
      run_batch(engine, queries_, algorithm, 3, resources_.threads, steps);
  }

  /// From a corpus with the weights of terms to answers.
  void use_weights() {
    ParseOptions options;
    std::vector<QueryTerm> query;
    {
      const OwnWork own;
      options.corpus = {weights_};
      query = {{"mill", 2}, {"a-term-that-is-too-long-for-a-small-text", 1}, {"unknown", 1}};
    }
    options.impacts = ImpactSettings{16, 100.0};
    write_file("weights", [&](File& out) { parse_corpus(options, resources_, out); });
    const CollectionReader from = CollectionReader::open("weights");
    from.verify_contents(resources_);
    const DocumentOrder order = make_order(from, {}, {}, resources_);
    write_file("impacts", [&](File& out) { build_index(from, order, {}, {}, resources_, out); });
    const IndexReader reader = IndexReader::open("impacts");
    verify_index(reader, resources_);
    const QueryEngine engine(reader, {}, resources_.threads);
    BatchSteps steps;
    steps.take = [](std::size_t, const QueryAnswer&) {};
    run_batch(engine, std::span<const std::vector<QueryTerm>>(&query, 1), algorithm_named("maxscore"), 3,
              resources_.threads, steps);
  }

  void intersect() {
    const IndexReader reader = index();
    for (const IntersectionMethod& method : all_intersection_methods())
      intersect_batch(Intersection(reader, method, {}), queries_, resources_.threads,
                      [](std::size_t, const IntersectionAnswer&) {});
  }

  void plan() {
    const IndexReader reader = index();
    const QueryEngine engine(reader, {}, resources_.threads);
    const CacheBlocks blocks(reader, CacheBlocks::default_size(reader), resources_);
    LogQueries log(reader.manifest().analyzer, resources_);
    for (const std::string_view query : queries_) log.add(query);
    PlanOptions options;
    options.budget_bytes = 1 << 20;
    const LogDemand demand = measure_demand(engine, blocks, log, options.demand, resources_);
    const CachePlan made = make_plan(engine, blocks, demand, options);
    write_file("plan", [&](File& out) { write_plan(out, made); });
  }

  void simulate() {
    const IndexReader reader = index();
    const CachePlan plan = PlanReader::open("plan").load_for(reader);
    LogQueries log(reader.manifest().analyzer, resources_);
    for (const std::string_view query : queries_) log.add(query);
    simulate_plan(plan, reader, log, 2, resources_);
  }

  void exchange(const char* name) {
    const InterchangeFormat& format = interchange_format_named(name);
    format.write(index(), "exported", true, resources_);
    ImportOptions options;
    options.source = "exported";
    options.format = name;
    write_file("imported", [&](File& out) {
      import_index([&](InvertedSink& sink) { format.read("exported", sink, resources_); }, options, resources_, out);
    });
  }

  void synthesize() {
    SynthOptions options;
    {
      const OwnWork own;
      options.table = scaled_to(df_table_of(index(), resources_), 50);
    }
    options.order_by_score = true;
    write_file("synthetic", [&](File& out) { synthesize_index(options, resources_, out); });
  }

  void synthesize_corpus() {
    SynthCorpusOptions options;
    options.tree.documents = 20;
    write_file("pages", [&](File& out) { write_corpus(options, resources_, out); });
  }

  TemporaryFolder folder_;
  Resources resources_;
  Analyzer analyzer_{make_analyzer_options("porter2", "english")};
  const std::string long_name_ = "a name that is too long for a text without an allocation";
  const std::string corpus_ = folder_.write("corpus.trecweb", small_trecweb);
  const std::string weights_ = folder_.write("weights.jsonl", [] {
    std::string lines;
    for (int i = 0; i < 40; ++i)
      lines += "{\"id\": " + std::to_string(i) +
               ", \"vector\": {\"mill\": 1.5, \"a-term-that-is-too-long-for-a-small-text\": " + std::to_string(i + 1) +
               "}}\n";
    return lines;
  }());
};

struct Turns {
  long first = 2000, random = 2000, step = 1;
};

/// Lets allocation number `turn` of a call fail. False if the call has fewer. `wrong` gets what must not be.
bool fail_at(const EntryPoint& entry, long turn, std::string& wrong) {
  allocations_left = turn;
  try {
    entry.call();
  } catch (const Error&) {
  } catch (const std::exception& error) {
    allocations_left = 0;
    wrong = std::string("throws ") + error.what();
  } catch (...) {
    allocations_left = 0;
    wrong = "throws what is no exception";
  }
  return allocations_left.exchange(0) <= 0;
}

/// Returns how often something was wrong.
int fail_all(EntryPoints& entries, const Turns& turns) {
  int errors = 0;
  for (const EntryPoint& entry : entries.all()) {
    const auto check = [&](long turn) {
      std::string wrong;
      const bool failed = fail_at(entry, turn, wrong);
      if (wrong.empty() && !entries.leftovers().empty()) wrong = "leaves " + *entries.leftovers().begin();
      if (!wrong.empty()) {
        ++errors;
        std::printf("%s: allocation %ld: %s\n", entry.name, turn, wrong.c_str());
      }
      return failed;
    };
    // How many there are.
    constexpr long never = 1L << 40;
    allocations_left = never;
    entry.call();
    const long all = never - allocations_left.exchange(0);
    const long alive = allocations_alive;
    long failed = 0;
    for (long turn = 1; turn <= std::min(all, turns.first); turn += turns.step) failed += check(turn);
    std::mt19937_64 random(1);
    const long later = all - turns.first;
    for (long i = 0; later > 0 && i < std::min(later, turns.random); i += turns.step)
      failed += check(turns.first + 1 + static_cast<long>(random() % static_cast<unsigned long>(later)));
    const long lost = allocations_alive - alive;
    std::printf("%-24s %6ld allocations, %5ld failed, %ld more alive\n", entry.name, all, failed, lost);
    std::fflush(stdout);
  }
  return errors;
}

/// Returns how often there were more threads than asked for.
int count_threads() {
  int errors = 0;
  for (const unsigned threads : {1u, 2u}) {
    EntryPoints entries(threads);
    for (const EntryPoint& entry : entries.all()) {
      const int before = threads_started;
      entry.call();
      // oneTBB keeps its threads, so they are counted with the first call that has them.
      const int workers = threads_started - before - entry.own_threads;
      if (workers <= static_cast<int>(threads) - 1) continue;
      ++errors;
      std::printf("%s starts %d threads besides its own for %u\n", entry.name, workers, threads);
    }
    // Those of the first calls, in the constructor, count too.
    const int of_all = threads_started - 4 * static_cast<int>(threads);  // the reading thread of four parses each
    if (of_all > static_cast<int>(threads) - 1) {
      ++errors;
      std::printf("all calls together start %d threads besides their own for %u\n", of_all, threads);
    }
  }
  return errors;
}

long number_of(const char* text) {
  long number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace
}  // namespace quern::testing

int main(int argc, char** argv) {
  using namespace quern::testing;
  Turns turns;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--threads") return count_threads() == 0 ? 0 : 1;
    if (i + 1 == argc) break;
    if (option == "--step") turns.step = number_of(argv[++i]);
    if (option == "--first") turns.first = number_of(argv[++i]);
    if (option == "--random") turns.random = number_of(argv[++i]);
  }
  EntryPoints entries(2);
  return fail_all(entries, turns) == 0 ? 0 : 1;
}
