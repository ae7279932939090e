#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/exchange/interchange_format.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/synth_index.hpp"
#include "quern/order/order.hpp"
#include "quern/search/search_backend.hpp"

#include "failing_calls/failing_entry_points.hpp"
#include "failing_calls/failing_new.hpp"

namespace quern::testing {
namespace {

void parse(const Workplace& place) {
  ParseOptions options;
  {
    const OwnWork own;
    options.corpus = {place.pages, place.objects};
    options.reader.field_names.kept = {"lang"};
  }
  options.analyzer = make_analyzer_options("porter2", "english");
  options.store_text = true;
  write_file("collection", [&](File& out) { parse_corpus(options, place.resources, out); });
}

void write_order_by(const Workplace& place, OrderBy by) {
  OrderOptions options;
  options.by = by;
  const CollectionReader from = place.collection();
  from.container().verify(place.resources);
  const DocumentOrder order = make_order(from, options, {}, place.resources);
  write_file("order", [&](File& out) { write_order(out, order, options, from); });
}

void build(const Workplace& place) {
  const OrderReader order = OrderReader::open("order");
  BuildOptions options;
  options.quantize_bits = 8;
  write_file("index", [&](File& out) {
    build_index(place.collection(), order.load(), order.manifest().options, options, place.resources, out);
  });
}

std::string index_hash(const Workplace& place) {
  const OwnWork own;
  return hash_text(place.index().container().content_hash());
}

void write_texts(const Workplace& place) {
  const DocumentOrder order = OrderReader::open("order").load();
  const std::string hash = index_hash(place);
  write_file("texts.quern", [&](File& out) { build_texts(place.collection(), order, hash, place.resources, out); });
}

void write_fields(const Workplace& place) {
  const DocumentOrder order = OrderReader::open("order").load();
  const std::string hash = index_hash(place);
  write_file(fields_member, [&](File& out) { build_fields(place.collection(), order, hash, place.resources, out); });
}

void write_forward(const Workplace& place) {
  const DocumentOrder order = OrderReader::open("order").load();
  const auto target = [&] {
    const OwnWork own;
    return ForwardTarget{order.documents, index_hash(place)};
  }();
  write_file(forward_member, [&](File& out) { build_forward(place.collection(), target, place.resources, out); });
}

void verify(const Workplace& place) {
  place.collection().verify_contents(place.resources);
  const IndexReader reader = place.index();
  reader.container().verify(place.resources);
  verify_index(reader, place.resources);
}

void read_collection(const Workplace& place) {
  const CollectionReader from = place.collection();
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

/// From a corpus with term weights to answers.
void use_weights(const Workplace& place) {
  ParseOptions options;
  std::vector<QueryTerm> query;
  {
    const OwnWork own;
    options.corpus = {place.weights};
    query = {{"mill", 2}, {"a-term-that-is-too-long-for-a-small-text", 1}, {"unknown", 1}};
  }
  options.impacts = ImpactSettings{16, 100.0};
  write_file("weights", [&](File& out) { parse_corpus(options, place.resources, out); });
  const CollectionReader from = CollectionReader::open("weights");
  from.verify_contents(place.resources);
  const DocumentOrder order = make_order(from, {}, {}, place.resources);
  write_file("impacts", [&](File& out) { build_index(from, order, {}, {}, place.resources, out); });
  const IndexReader reader = IndexReader::open("impacts");
  verify_index(reader, place.resources);
  const QueryEngine engine(reader, {}, place.resources.threads);
  AnswerConsumer consumer;
  consumer.threads = place.resources.threads;
  consumer.take = [](std::size_t, const QueryAnswer&) {};
  std::vector<const QueryEngine*> engines;
  {
    const OwnWork own;
    engines = {&engine};
  }
  const QueryTerms terms = engine.reader().use(query);
  const QueryView view = terms;
  CpuBackend backend(std::move(engines));
  run(backend, {{&view, 1}, &algorithm_named("maxscore"), 3}, consumer);
}

void exchange(const Workplace& place, const char* name) {
  const InterchangeFormat& format = interchange_format_named(name);
  format.write(place.index(), "exported", true, place.resources);
  ImportOptions options;
  options.source = "exported";
  options.format = name;
  write_file("imported", [&](File& out) {
    import_index([&](InvertedSink& sink) { format.read("exported", sink, place.resources); }, options, place.resources,
                 out);
  });
}

void synthesize(const Workplace& place) {
  SynthOptions options;
  {
    const OwnWork own;
    options.table = scaled_to(df_table_of(place.index(), place.resources), 50);
  }
  options.order_by_score = true;
  write_file("synthetic", [&](File& out) { synthesize_index(options, place.resources, out); });
}

void synthesize_corpus(const Workplace& place) {
  SynthCorpusOptions options;
  options.tree.documents = 20;
  write_file("pages", [&](File& out) { write_corpus(options, place.resources, out); });
}

}  // namespace

std::vector<EntryPoint> stage_calls(const Workplace& place) {
  return {{"parse", [&] { parse(place); }, 1},
          {"order by score", [&] { write_order_by(place, OrderBy::score); }},
          {"order by bisection", [&] { write_order_by(place, OrderBy::bisection); }},
          {"order by url", [&] { write_order_by(place, OrderBy::url); }},
          {"build", [&] { build(place); }},
          {"texts", [&] { write_texts(place); }},
          {"fields", [&] { write_fields(place); }},
          {"forward file", [&] { write_forward(place); }},
          {"verify", [&] { verify(place); }},
          {"read a collection", [&] { read_collection(place); }},
          {"given impacts", [&] { use_weights(place); }, 1},
          {"export and import ciff", [&] { exchange(place, "ciff"); }},
          {"export and import ds2i", [&] { exchange(place, "ds2i"); }},
          {"synth index", [&] { synthesize(place); }},
          {"synth corpus", [&] { synthesize_corpus(place); }}};
}

}  // namespace quern::testing
