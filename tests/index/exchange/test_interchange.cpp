#include <algorithm>

#include "quern/index/exchange/interchange_format.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/zstd_frame.hpp"

#include "catch.hpp"
#include "index/exchange/foreign_files.hpp"
#include "index/met_lists.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/pipeline.hpp"

/// From inverted files to indexes and back.
namespace quern {
namespace {

using namespace testing;

StageFile import_model(const Pipeline& pipeline, const InvertedModel& model, const BuildOptions& build = {}) {
  ImportOptions options;
  options.source = "model";
  options.format = "test";
  options.build = build;
  StageFile file = pipeline.new_file();
  import_index([&](InvertedSink& sink) { model.play(sink); }, options, pipeline.resources, *file);
  return file;
}

InvertedModel exported(const Pipeline& pipeline, const IndexReader& index) {
  InvertedModel model;
  export_index(index, model, *pipeline.resources.progress);
  CHECK(model.ended);
  return model;
}

void check_same(const InvertedModel& found, InvertedModel expected) {
  std::sort(expected.lists.begin(), expected.lists.end());
  CHECK(found.lists == expected.lists);
  CHECK(found.documents == expected.documents);
  CHECK(found.counts.lists == expected.lists.size());
  CHECK(found.counts.documents == expected.counts.documents);
  CHECK(found.counts.total_documents == expected.counts.total_documents);
  CHECK(found.counts.total_tokens == expected.counts.total_tokens);
}

}  // namespace

TEST_CASE("an index written from lists in any order returns them in the order of their terms",
          "[interchange][property]") {
  const Pipeline pipeline;
  for (const auto& [documents, terms] : {std::pair(0, 0), {1, 1}, {3, 0}, {17, 5}, {300, 90}, {1500, 40}}) {
    const InvertedModel model = random_inverted(documents + terms, documents, terms);
    for (const char* codec : {"maskpfd", "newpfd", "rpfd", "rice"}) {
      INFO(documents << " documents, " << codec);
      BuildOptions build;
      build.codec = codec;
      build.codec_options.block_size = 64;
      const IndexReader index = Pipeline::open_index(import_model(pipeline, model, build));
      CHECK_NOTHROW(verify_index(index, pipeline.resources));
      CHECK(index.manifest().lengths == Lengths::exact);
      check_same(exported(pipeline, index), model);
    }
  }
}

TEST_CASE("quantized impacts of a very long list are computed in parts", "[interchange][quantized]") {
  Pipeline pipeline;
  constexpr docid_t documents = 300000;  // more than two parts
  InvertedModel model;
  model.counts = {3, documents, documents, 0};
  for (docid_t docid = 0; docid < documents; ++docid) model.documents.emplace_back(std::to_string(docid), 0);
  for (const docid_t step : {7u, 1u, 90u}) {
    InvertedModel::List& list = model.lists.emplace_back();
    list.term = "every" + std::to_string(step);
    for (docid_t docid = 0; docid < documents; docid += step) {
      list.postings.emplace_back(docid, 1 + docid % 5 * docid % 7);
      model.documents[docid].second += list.postings.back().second;
    }
  }
  for (const auto& document : model.documents) model.counts.total_tokens += document.second;
  for (const Codec* codec : all_codecs()) {
    BuildOptions build;
    build.codec = codec->name;
    build.quantize_bits = 6;
    const IndexReader index = Pipeline::open_index(import_model(pipeline, model, build));
    INFO(codec->name);
    CHECK_NOTHROW(verify_index(index, pipeline.resources));  // compares all impacts with the frequencies
    CHECK(index.find("every1")->df == documents);
  }
}

TEST_CASE("lists longer than memory holds at once are imported from disk", "[interchange]") {
  Pipeline pipeline;
  pipeline.resources.memory_bytes = 33 << 20;
  InvertedModel model = random_inverted(5, 60000, 3);
  model.lists.push_back({"everywhere", {}});
  for (docid_t docid = 0; docid < 60000; ++docid) {
    model.lists.back().postings.emplace_back(docid, 1 + docid % 3);
    model.documents[docid].second += 1 + docid % 3;
    model.counts.total_tokens += 1 + docid % 3;
  }
  const IndexReader index = Pipeline::open_index(import_model(pipeline, model));
  CHECK_NOTHROW(verify_index(index, pipeline.resources));
  check_same(exported(pipeline, index), model);
}

TEST_CASE("more terms than memory holds are sorted on disk", "[interchange]") {
  const TemporaryFolder folder;
  ListStore store("model", folder.path(""), 1 << 16);
  const InvertedModel model = random_inverted(9, 2000, 300);
  for (const auto& list : model.lists) {
    for (const auto& [docid, freq] : list.postings) store.add_posting(docid, freq);
    store.end_list(list.term);
  }
  for (docid_t docid = 0; docid < 2000; ++docid) store.add_posting(docid, 2);
  store.end_list("everywhere");
  // Many terms of one posting each, which together exceed the memory.
  for (int i = 0; i < 6000; ++i) {
    store.add_posting(static_cast<docid_t>(i % 2000), 1);
    store.end_list("many " + std::to_string(i * 7919 % 6000));
  }
  store.sort();
  const auto source = store.lists();
  const testing::MetLists met = testing::met_lists(*source);
  std::string last;
  std::uint64_t lists = 0;
  for (std::size_t i = 0; i < met.postings.size(); ++i) {
    const term_t term = met.postings[i].term;
    if (i > 0 && term == met.postings[i - 1].term) continue;
    CHECK(term == lists++);
    CHECK((lists == 1 || last < store.term_at(term)));
    last = store.term_at(term);
  }
  CHECK(lists == model.lists.size() + 6001);
  CHECK(met.postings.size() == store.postings());
  CHECK(met.long_lists > 0);
}

TEST_CASE("an index of a text, exported and imported, has the same lists and scores", "[interchange]") {
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(as_jsonl(random_corpus(3, {}))));
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  const InvertedModel model = exported(pipeline, index);
  const IndexReader again = Pipeline::open_index(import_model(pipeline, model));
  for (const char* section :
       {"postings", "lexicon", "block_last", "block_offset", "block_max", "docnos", "lengths", "docno_lookup"}) {
    INFO(section);
    CHECK(hash_text(xxh3(again.container().view(section))) == hash_text(xxh3(index.container().view(section))));
  }
  CHECK(again.manifest().statistics.tokens == index.manifest().statistics.tokens);
  CHECK(again.manifest().analyzer == index.manifest().analyzer);
}

TEST_CASE("exchange files stay the same when they are imported and exported", "[interchange]") {
  const Pipeline pipeline;
  const std::string folder = pipeline.folder.path("");
  const InvertedModel model =
      exported(pipeline, Pipeline::open_index(import_model(pipeline, random_inverted(7, 400, 60))));

  const std::string ciff = ciff_of(model, folder);
  CHECK(ciff_of(exported(pipeline, Pipeline::open_index(import_model(pipeline, read_ciff_text(ciff)))), folder) ==
        ciff);
  const Ds2iParts ds2i = ds2i_of(model, folder);
  CHECK(ds2i_of(exported(pipeline, Pipeline::open_index(import_model(pipeline, read_ds2i_parts(ds2i)))), folder) ==
        ds2i);
}

TEST_CASE("lengths that are not the sums of frequencies are kept and declared", "[interchange]") {
  const Pipeline pipeline;
  InvertedModel model = random_inverted(11, 50, 20);
  model.documents[49].second += 1;
  model.counts.total_tokens = 0;  // unknown: the sum of the lengths
  const IndexReader index = Pipeline::open_index(import_model(pipeline, model));
  CHECK(index.manifest().lengths == Lengths::lossy);
  CHECK(index.length(49) == model.documents[49].second);
  CHECK(index.manifest().statistics.tokens == index.manifest().tokens + 1);
  CHECK_NOTHROW(verify_index(index, pipeline.resources));
}

TEST_CASE("scores use a larger collection's statistics if an imported file has them", "[interchange]") {
  const Pipeline pipeline;
  InvertedModel model = random_inverted(12, 50, 20);
  model.counts.total_documents = 1000;
  model.counts.total_tokens = 12345;
  const IndexReader index = Pipeline::open_index(import_model(pipeline, model));
  CHECK(index.manifest().statistics.documents == 1000);
  CHECK(index.manifest().statistics.tokens == 12345);
  CHECK(index.manifest().documents == 50);
}

TEST_CASE("a term with two lists is refused, one without postings is omitted", "[interchange]") {
  const Pipeline pipeline;
  InvertedModel model = random_inverted(13, 20, 4);
  const std::size_t lists = model.lists.size();
  model.lists.push_back({"empty", {}});
  CHECK(Pipeline::open_index(import_model(pipeline, model)).manifest().terms == lists);
  model.lists.push_back(model.lists.front());
  CHECK_THROWS_AS(import_model(pipeline, model), CorruptFile);
}

TEST_CASE("imported indexes name no library but the one that compressed their texts", "[interchange]") {
  const Pipeline pipeline;
  const auto index = Pipeline::open_index(import_model(pipeline, random_inverted(14, 20, 4)));
  TextLibraries known;
  known.zstd = zstd_version();
  CHECK((index.manifest().libraries == known));
  CHECK(index.manifest().to_json().find("unicode") == std::string::npos);
}

TEST_CASE("more documents than the budget allows are refused at once", "[interchange]") {
  const Pipeline pipeline;
  InvertedModel model;
  model.counts.documents = 4000000000;
  CHECK_THROWS_AS(import_model(pipeline, model), InvalidArgument);
}

}  // namespace quern
