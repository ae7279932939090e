#include <cmath>
#include <functional>
#include <optional>
#include <variant>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/search/document_set.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

/// Kept fields from JSON objects to filters, against documents in plain structures.
namespace quern {
namespace {

using namespace testing;

using Value = std::variant<std::monostate, bool, double, std::string>;

struct Page {
  std::string docno, url;
  Value lang, date, open;
};

std::string json_of(const Value& value) {
  if (std::holds_alternative<bool>(value)) return std::get<bool>(value) ? "true" : "false";
  if (std::holds_alternative<std::string>(value)) return '"' + std::get<std::string>(value) + '"';
  return std::to_string(std::get<double>(value));
}

/// With `large`, every 50th page is too large to be parsed whole in memory.
std::string corpus_of(const std::vector<Page>& pages, bool large) {
  std::string corpus;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const Page& page = pages[i];
    corpus += "{\"id\":\"" + page.docno + "\",\"url\":\"" + page.url + "\"";
    for (const auto& [name, value] :
         {std::pair("lang", page.lang), std::pair("date", page.date), std::pair("open", page.open)})
      if (!std::holds_alternative<std::monostate>(value)) corpus += std::string(",\"") + name + "\":" + json_of(value);
    corpus += ",\"contents\":\"" + (large && i % 50 == 0 ? std::string(1'200'000, 'x') : "water mill") + "\"}\n";
  }
  return corpus;
}

std::vector<Page> draw_pages(std::uint64_t seed, std::size_t count) {
  RandomBits random(seed);
  const char* const langs[] = {"en", "de", "fr", "en-GB", ""};
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    Page page;
    page.docno = "D" + std::to_string(random.below(2) == 0 ? i : i / 2);
    page.url =
        random.below(4) == 0 ? "" : "http://s" + std::to_string(random.below(3)) + ".example/" + std::to_string(i);
    if (random.below(5) != 0) page.lang = std::string(langs[random.below(5)]);
    if (random.below(4) == 0)
      page.date = "20" + std::to_string(10 + random.below(15));
    else if (random.below(4) != 0)
      page.date = static_cast<double>(random.below(30)) - 5;
    if (random.below(3) == 0) page.open = random.below(2) == 0;
    pages.push_back(page);
  }
  return pages;
}

/// The index of pages in a given order, and their fields.
struct FilteredPages {
  FilteredPages(std::vector<Page> all, OrderBy by, bool large = false) : pages(std::move(all)) {
    pipeline.kept_fields = {"lang", "date", "open"};
    const CollectionReader collection(pipeline.parse(corpus_of(pages, large)));
    CHECK_NOTHROW(collection.verify_contents(pipeline.resources));
    order = pipeline.order(collection, by, 3);
    index.emplace(Pipeline::open_index(pipeline.build(collection, order, {})));
    fields.emplace(ContainerReader(pipeline.fields(collection, order), FileKind::fields));
    fields->check_belongs_to(*index);
    CHECK_NOTHROW(fields->verify_contents(pipeline.resources));
  }

  DocumentSet passing(const std::string& filter) {
    return evaluate_filter(parse_filter(filter), *index, &*fields, pipeline.resources);
  }
  void check(const std::string& filter, const std::function<bool(const Page&)>& passes) {
    INFO(filter);
    const DocumentSet set = passing(filter);
    for (docid_t docid = 0; docid < pages.size(); ++docid) {
      INFO("docID " << docid);
      REQUIRE(set.contains(docid) == passes(pages[order.documents[docid]]));
    }
  }

  Pipeline pipeline;
  std::vector<Page> pages;
  DocumentOrder order;
  std::optional<IndexReader> index;
  std::optional<FieldsReader> fields;
};

bool is_text(const Value& value, std::string_view text) {
  return std::holds_alternative<std::string>(value) && std::get<std::string>(value) == text;
}
const std::string* text_of(const Value& value) { return std::get_if<std::string>(&value); }
const double* number_of(const Value& value) { return std::get_if<double>(&value); }

void check_all(FilteredPages& all) {
  all.check("lang=en", [](const Page& page) { return is_text(page.lang, "en"); });
  all.check("lang!=en", [](const Page& page) { return !is_text(page.lang, "en"); });
  all.check("lang=''", [](const Page& page) { return is_text(page.lang, ""); });
  all.check("lang in (fr, en)", [](const Page& page) { return is_text(page.lang, "en") || is_text(page.lang, "fr"); });
  all.check("lang^=en", [](const Page& page) { return text_of(page.lang) && text_of(page.lang)->starts_with("en"); });
  all.check("lang>de", [](const Page& page) { return text_of(page.lang) && *text_of(page.lang) > "de"; });
  all.check("has lang", [](const Page& page) { return text_of(page.lang) != nullptr; });
  all.check("has date and not has open", [](const Page& page) {
    return !std::holds_alternative<std::monostate>(page.date) && std::holds_alternative<std::monostate>(page.open);
  });
  // Numbers are compared as numbers, texts by their bytes.
  all.check("date<12", [](const Page& page) {
    return (number_of(page.date) && *number_of(page.date) < 12) || (text_of(page.date) && *text_of(page.date) < "12");
  });
  all.check("date>=2017", [](const Page& page) {
    return (number_of(page.date) && *number_of(page.date) >= 2017) ||
           (text_of(page.date) && *text_of(page.date) >= "2017");
  });
  all.check("date=-3", [](const Page& page) { return number_of(page.date) && *number_of(page.date) == -3; });
  all.check("date in (7, -1.0, 2015)", [](const Page& page) {
    const double* number = number_of(page.date);
    return (number && (*number == 7 || *number == -1)) || is_text(page.date, "2015");
  });
  // Beyond float64, numbers are 0 or infinite.
  all.check("date<1e309 and date>-1e309", [](const Page& page) { return number_of(page.date) != nullptr; });
  all.check("date>1e-400", [](const Page& page) {
    return (number_of(page.date) && *number_of(page.date) > 0) ||
           (text_of(page.date) && *text_of(page.date) > "1e-400");
  });
  all.check("date='7'", [](const Page&) { return false; });
  all.check("open=true",
            [](const Page& page) { return std::holds_alternative<bool>(page.open) && std::get<bool>(page.open); });
  all.check("open in (true, false)", [](const Page& page) { return std::holds_alternative<bool>(page.open); });
  all.check("open='true' or open<true or open^=true", [](const Page&) { return false; });
  all.check("url^=http://s1.example/", [](const Page& page) { return page.url.starts_with("http://s1.example/"); });
  all.check("has url", [](const Page& page) { return !page.url.empty(); });
  // The deepest nesting, with most outcomes to keep.
  std::string deep = "docno=D1 or docno=D0 and docno=D1";
  for (int i = 0; i < 30; ++i) deep = "docno=D0 or docno=D1 and (" + deep + ")";
  all.check(deep, [](const Page& page) { return page.docno == "D0" || page.docno == "D1"; });
  all.check("docno=D7", [](const Page& page) { return page.docno == "D7"; });
  all.check("docno in (D1, D100, D2, D-none)",
            [](const Page& page) { return page.docno == "D1" || page.docno == "D100" || page.docno == "D2"; });
  all.check("(lang=de or lang=fr) and not (date<10 or url^=http://s2)", [](const Page& page) {
    const bool before =
        (number_of(page.date) && *number_of(page.date) < 10) || (text_of(page.date) && *text_of(page.date) < "10");
    return (is_text(page.lang, "de") || is_text(page.lang, "fr")) && !before && !page.url.starts_with("http://s2");
  });
}

}  // namespace

TEST_CASE("filters choose the same documents as a plain check of their fields", "[filter][property]") {
  for (const std::size_t count : {1u, 63u, 1024u, 2500u}) {
    INFO(count << " documents");
    FilteredPages all(draw_pages(count, count), OrderBy::random);
    check_all(all);
  }
}

TEST_CASE("fields of objects that are read in pieces are kept like those of others", "[filter][property]") {
  FilteredPages all(draw_pages(5, 120), OrderBy::natural, true);
  check_all(all);
}

TEST_CASE("filters that name an unknown field are refused with the existing fields", "[filter]") {
  FilteredPages all(draw_pages(9, 30), OrderBy::natural);
  CHECK_THROWS_WITH(all.passing("lang=en and size=3"), Catch::Contains("at byte 13") &&
                                                           Catch::Contains("no field 'size'") &&
                                                           Catch::Contains("docno, url, lang, date, open"));
  CHECK_THROWS_WITH(evaluate_filter(parse_filter("lang=en"), *all.index, nullptr, all.pipeline.resources),
                    Catch::Contains(option_name<"index keep-fields">));
  Resources little = all.pipeline.resources;
  little.memory_bytes = 4;
  CHECK_THROWS_AS(evaluate_filter(parse_filter("lang=en"), *all.index, &*all.fields, little), InvalidArgument);
}

TEST_CASE("a list of docnos chooses all documents with them, and counts unknown ones", "[filter]") {
  FilteredPages all(draw_pages(11, 300), OrderBy::random);
  const std::string one = all.pages[3].docno, other = all.pages[200].docno;
  REQUIRE(one != other);
  const std::string list = "\xEF\xBB\xBF" + one + "\n\n " + other + " \r\nnone\n" + one + "\nnobody";
  const auto source = ByteSource::from_memory("list", list);
  const ListedDocuments listed = read_docno_list(*source, {&*all.index, 1}, all.pipeline.resources);
  CHECK(listed.listed == 5);
  CHECK(listed.unknown == 2);
  CHECK(listed.first_unknown == "none");
  CHECK(listed.documents.front() == all.passing("docno in (" + one + ", " + other + ")"));
}

}  // namespace quern
