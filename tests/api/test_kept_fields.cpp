#include <limits>

#include "quern/api/quern.hpp"

#include "api/failing.hpp"
#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/temporary_folder.hpp"

/// Kept fields of documents that a program adds.
namespace quern {
namespace {

using namespace testing;
using api::ErrorCode;

/// A document with these fields.
api::NewDocument page(std::string_view docno, std::span<const api::KeptField> fields) {
  api::NewDocument document;
  document.docno = docno;
  document.text = "water mill";
  document.fields = fields;
  return document;
}

}  // namespace

TEST_CASE("a program's fields are kept byte for byte like those of JSON lines", "[api]") {
  const TemporaryFolder folder;
  const std::string lines =
      "{\"id\":\"a\",\"contents\":\"water "
      "mill\",\"lang\":\"en\",\"year\":1999,\"open\":true,\"odd\":\"q\\\"\\n\\u0001\"}\n"
      "{\"id\":\"b\",\"contents\":\"water mill\"}\n"
      "{\"id\":\"c\",\"contents\":\"water mill\",\"lang\":\"\",\"year\":-0.0,\"open\":false}\n"
      "{\"id\":\"d\",\"contents\":\"water mill\",\"year\":0.1,\"open\":9007199254740993,\"lang\":1e+300}\n";
  const std::string from_lines = folder.path("lines"), added = folder.path("added");
  // A document that a program adds may have any size.
  const RunOutcome outcome = run_quern({"index", folder.write("c.jsonl", lines), "--format", "jsonl", "--keep-fields",
                                        "lang,year,open,odd", "--max-document", "4G", "-o", from_lines});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);

  api::IndexOptions options;
  options.keep_fields = {"lang", "year", "open", "odd"};
  api::IndexBuilder builder(added, options);
  const std::vector<api::KeptField> fields_a = {{"lang", "en"}, {"year", 1999}, {"open", true}, {"odd", "q\"\n\1"}};
  const std::vector<api::KeptField> fields_c = {{"lang", ""}, {"year", -0.0}, {"open", false}};
  const std::vector<api::KeptField> fields_d = {
      {"year", 0.1}, {"open", std::int64_t{9007199254740993}}, {"lang", 1e300}};
  builder.add(page("a", fields_a));
  builder.add(page("b", {}));
  builder.add(page("c", fields_c));
  builder.add(page("d", fields_d));
  const api::IndexReport report = builder.finish();
  CHECK(report.documents == 4);
  CHECK(report.bad == 0);
  for (const char* name : {"/index.quern", "/fields.quern"})
    CHECK(read_file(added + name) == read_file(from_lines + name));

  const api::Index index = api::Index::open(added);
  index.verify();
  CHECK(api::Filter::matching(index, "lang=en and year<2000 and open=true").count() == 1);
  CHECK(api::Filter::matching(index, "has year").count() == 3);
  CHECK(api::Filter::matching(index, "year<1").count() == 2);
}

TEST_CASE("a builder refuses fields that can't be kept, and continues with the rest", "[api]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("index.quern"), too_long(256, 'x');
  api::IndexOptions options;
  options.keep_fields = {"lang"};
  api::IndexBuilder builder(path, options);
  for (const api::KeptField& wrong :
       {api::KeptField{"lang", too_long}, api::KeptField{"lang", std::numeric_limits<double>::infinity()},
        api::KeptField{"lang", std::numeric_limits<double>::quiet_NaN()}, api::KeptField{"year", 1999}}) {
    const std::vector<api::KeptField> fields = {wrong};
    CHECK(code_of([&] { builder.add(page("a", fields)); }) == ErrorCode::invalid_argument);
  }
  const std::vector<api::KeptField> longest = {{"lang", std::string_view(too_long).substr(1)}};
  builder.add(page("b", longest));
  CHECK(builder.finish().documents == 1);
  CHECK(api::Filter::matching(api::Index::open(path), "has lang").count() == 1);

  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"text"}, std::vector<std::string>{"two words"}, std::vector<std::string>{"a", "a"}}) {
    options.keep_fields = names;
    CHECK(code_of([&] {
            api::IndexBuilder wrong(folder.path("wrong"), options);
            wrong.add(page("a", {}));
            wrong.finish();
          }) == ErrorCode::invalid_argument);
  }
}

}  // namespace quern
