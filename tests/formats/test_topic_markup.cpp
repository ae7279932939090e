#include "catch.hpp"
#include "formats/query_reading.hpp"

using namespace quern;
using namespace quern::testing;

TEST_CASE("TREC topics of all years are read", "[format][query_file]") {
  SECTION("the older form, with labels, other fields and leading zeros") {
    const QueryFile found = automatic(
        "<top>\n\n<head> Tipster Topic Description\n\n<num> Number:  051\n\n<dom> Domain: Economics\n\n"
        "<title> Topic:  Airbus Subsidies\n\n<desc> Description:\n\nText.\n\n<fac> Factor(s):\n<nat> U.S.\n</fac>\n"
        "<def> Definition(s):\n</top>\n");
    CHECK(found.format == QueryFormat::trec);
    CHECK(found.queries == Queries{{"051", "Airbus Subsidies"}});
  }
  SECTION("titles on the next line, tags in capitals, tags closed") {
    const Queries want{{"1", "water mills in Norfolk"}};
    CHECK(automatic("<top>\n<num> Number: 1\n<title>\nwater mills\nin Norfolk\n\n<desc>\nx\n</top>").queries == want);
    CHECK(automatic("<TOP><NUM>1</NUM><TITLE>water mills in Norfolk</TITLE></TOP>").queries == want);
    CHECK(automatic("<top lang='en'><num>1<title>water <!-- not --> mills in Norfolk").queries == want);
  }
  SECTION("tops that are never closed, or not even opened") {
    const Queries want{{"1", "a"}, {"2", "b"}};
    CHECK(automatic("<top><num> 1 <title> a\n<top><num> 2 <title> b\n").queries == want);
    CHECK(automatic("<num> 1 <title> a\n<num> 2 <title> b\n").queries == want);
  }
  SECTION("a file that is cut off within its last topic") {
    const std::string closed = "<top><num> 1 <title> a</top>\n";
    for (const char* rest : {"<top>", "<top><num> 2", "<top><num> 2 <tit", "<top><num> 2 <title> b\n"})
      CHECK(complaint("\n" + closed + rest).find("test.queries, line 3: the topic that begins here has no </top>") ==
            0);
    CHECK(complaint("<topics><topic number='1'><query>a</query></topic>\n<topic number='2'><query>b</query>")
              .find("test.queries, line 2: the topic that begins here has no </topic>") == 0);
    CHECK(automatic(closed + "</tops>").queries == Queries{{"1", "a"}});
  }
  SECTION("without a title the description is the query; an empty title stays empty") {
    CHECK(automatic("<top><num> 201\n<desc> Description:\nIs milling paid?\n</top>").queries ==
          Queries{{"201", "Is milling paid?"}});
    CHECK(automatic("<top><num> 201 <title>\n<desc> Is milling paid?</top>").queries == Queries{{"201", ""}});
    CHECK(automatic("<top><num> 201 <title></title><desc> Is milling paid?</top>").queries == Queries{{"201", ""}});
    CHECK(complaint("<top>\n<num> 200 <title> a</top>\n<top><num> 201 </top>")
              .find("test.queries, line 3: the topic that begins here has no query: it is empty") == 0);
  }
  SECTION("what is only like a tag or a reference is text") {
    CHECK(automatic("<num>1<title>a < b <3 AT&T &unknown; &amp;lt; &#39;x&#x27; &#xd800; R&D;x").queries ==
          Queries{{"1", "a < b <3 AT&T &unknown; &lt; 'x' \xef\xbf\xbd R&D;x"}});
    CHECK(automatic("<num>1<title>&#233;&#x20ac;&#x1f33e;&#99999999999;&#;").queries ==
          Queries{{"1", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xbe&#99999999999;&#;"}});
  }
  SECTION("a label in the midst of a title is part of it") {
    CHECK(automatic("<num>1<title>Topics: mills").queries == Queries{{"1", "Topics: mills"}});
    CHECK(automatic("<num>1<title>hot topic: mills").queries == Queries{{"1", "hot topic: mills"}});
  }
}

TEST_CASE("Web track topics are read past comments, CDATA and a document type", "[format][query_file]") {
  const QueryFile found = automatic(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE t [\n <!ELEMENT topic (query)>\n]>\n<t>\n<!-- <topic number=\"0\"> -->\n"
      "<topic type='faceted' number = '1'>\n<query>\n obama   family\n tree </query>\n"
      "<subtopic number=\"4\"><query>no</query></subtopic></topic>\n"
      "<topic id=2><query><![CDATA[a &amp; c]]> &eacute;</query></topic>\n"
      "<topic number='5'><query><![CDATA[a <b> c]]></query></topic>"
      "<topic number='6'><title>x <![CDATA[age > 60 & <topic number='0'> AT&T]]> y</title></topic>"
      "<topic number='7'><query><![CDATA[x]]]]><![CDATA[>]]></query></topic>"
      "<topic number=\"3\"><title>only a title</title></topic><topic number=\"4\"><query/></topic></t>");
  CHECK(found.format == QueryFormat::webtrack);
  CHECK(found.queries == Queries{{"1", "obama family tree"},
                                 {"2", "a &amp; c \xc3\xa9"},
                                 {"5", "a <b> c"},
                                 {"6", "x age > 60 & <topic number='0'> AT&T y"},
                                 {"7", "x]]>"},
                                 {"3", "only a title"},
                                 {"4", ""}});
}

TEST_CASE("What tags within a topic's tags hold is not the topic's", "[format][query_file][reports]") {
  const auto topic = [](const std::string& content) {
    return "<topics>\n<topic number='1'>" + content + "</topic></topics>";
  };
  for (const char* content : {"<description>all mills</description><subtopic id='1.1'><passage id='1'><text>passage "
                              "words</text></passage></subtopic>",
                              "<description>all mills</description><subtopic number='1'><query>sub</query></subtopic>",
                              "<example><title>Example</title><text>ex</text></example><description>all "
                              "mills</description>",
                              "<doc><num>7</num><query>Example</query></doc><query>all mills</query>",
                              "<query>all mills</query><doc><query>Example</query></doc>"})
    CHECK(automatic(topic(content)).queries == Queries{{"1", "all mills"}});
  // Tags that are not closed contain none.
  CHECK(automatic("<top><num>1<title>mills<desc>of <narr>x</narr></top>").queries == Queries{{"1", "mills"}});
  CHECK(automatic("<topics><topic><doc><id>7</id></doc><num>1</num><title>mills</title></topic></topics>").queries ==
        Queries{{"1", "mills"}});
  QueryLayout named;
  named.text_fields = {"query"};
  for (const char* content :
       {"<subtopic number='1'><query>sub</query></subtopic>", "<title><query>sub</query></title>"}) {
    CHECK(complaint(topic(content)).find("line 2: the topic that begins here has no query in one of the usual tags") !=
          std::string::npos);
    CHECK(parse_queries(topic(content), named, "test.queries").queries == Queries{{"1", "sub"}});
  }
  CHECK(complaint(topic("<title>water <place>Norfolk</place> mill</title>")).find("'title', 'place'") !=
        std::string::npos);
}

TEST_CASE("Topics are read in the encoding that XML declares", "[format][query_file][reports]") {
  const std::string rest =
      "?><topics><topic number=\"\xe9\"><query>caf\xe9 &eacute;</query></topic><topic number='2'>"
      "<title><![CDATA[\xfc]]> caf\xc3\xa9</title></topic></topics>";
  CHECK(automatic("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"" + rest).queries ==
        Queries{{"\u00e9", "caf\u00e9 \u00e9"}, {"2", "\u00fc caf\u00e9"}});
  CHECK(automatic("<?xml version=\"1.0\" encoding=\"UTF-8\"" + rest).queries.at(0).text == "caf\xe9 \u00e9");
}

TEST_CASE("Topics of all tracks have the queries that their tags hold", "[format][query_file][reports]") {
  const struct {
    const char* bytes;
    Queries queries;
  } kinds[] = {
      // Decision track
      {"<topics>\n<topic>\n<number>101</number>\n<query>water mill wheel</query>\n<description>\nDoes a wheel need "
       "water?\n</description>\n<stance>unhelpful</stance>\n</topic>\n</topics>\n",
       {{"101", "water mill wheel"}}},
      // Clinical trials
      {"<topics task=\"Trials\">\n  <topic number=\"-1\">\n    A miller of 45 years with dust in the lungs,\n    works "
       "with grain &amp; <b>flour</b>, BP < 120.\n  </topic>\n  <topic number=\"2\">Another "
       "miller.</topic>\n</topics>\n",
       {{"-1", "A miller of 45 years with dust in the lungs, works with grain & flour, BP < 120."},
        {"2", "Another miller."}}},
      {"<topics>\n<topic number=\"1\" template=\"lungs\">\n<field name=\"dust\">much</field>\n<field "
       "name=\"age\">45</field>\n</topic></topics>",
       {{"1", "much 45"}}},
      // Precision medicine
      {"<topics>\n<topic number=\"1\"><disease>dust lung</disease><gene>GRAIN1</gene><demographic>45-year-old "
       "male</demographic><other></other></topic>\n</topics>\n",
       {{"1", "dust lung GRAIN1 45-year-old male"}}},
      // Medical records
      {"<top>\n<num>Number: 101</num>\nMillers with dust in the lungs\n</top>\n",
       {{"101", "Millers with dust in the lungs"}}},
      // Microblog 2011, and 2012 to 2014
      {"<top>\n<num> Number: MB001 </num>\n<title> mill sale </title>\n<querytime> Tue Feb 08 12:30:27 +0000 2011 "
       "</querytime>\n<querytweettime> 34952194402811904 </querytweettime>\n</top>\n",
       {{"MB001", "mill sale"}}},
      {"<top>\n<num> Number: MB171 </num>\n<query> mill birthday </query>\n<querytime> Sat Mar 02 10:43:45 EST 2013 "
       "</querytime>\n<querytweettime> 307878904759201794 </querytweettime>\n</top>\n",
       {{"MB171", "mill birthday"}}},
      // Background linking from 2020 on
      {"<top>\n<num> Number: 886 </num>\n<docid>ab12</docid>\n<url>https://mill.example/</url>\n<title>Old "
       "mills</title>\n<desc>x</desc>\n<subtopics>\n<sub num=\"1\">y</sub>\n</subtopics>\n</top>\n",
       {{"886", "Old mills"}}},
      // CLEF
      {"<topics>\n<topic lang=\"en\">\n<identifier>10.2452/701-AH</identifier>\n<title>Water mills</title>\n"
       "<description>Find mills.</description>\n</topic>\n</topics>\n",
       {{"10.2452/701-AH", "Water mills"}}},
      {"<top>\n<num> C041 </num>\n<EN-title> Mills in Europe </EN-title>\n<EN-desc> x </EN-desc>\n</top>\n",
       {{"C041", "Mills in Europe"}}},
      {"<queries><query><id>151001</id><title>mill dust</title></query></queries>", {{"151001", "mill dust"}}},
      // NTCIR
      {"<queries>\n\t<query>\n\t\t<qid>0001</qid>\n\t\t<content>water mill</content>\n\t</query>\n</queries>\n",
       {{"0001", "water mill"}}},
      {"<TOPIC>\n<NUM>001</NUM>\n<SLANG>CH</SLANG>\n<TITLE>mills</TITLE>\n<DESC>x</DESC>\n</TOPIC>\n",
       {{"001", "mills"}}},
      {"<TOPIC q=0001>\n<TITLE>\nmills\n</TITLE>\n</TOPIC>\n", {{"0001", "mills"}}},
      // Genomics, INEX, temporal summarization
      {"<TOPICS>\n<TOPIC>\n<ID>1</ID>\n<TITLE>H<sub>2</sub>O mills</TITLE>\n<NEED>x</NEED>\n</TOPIC>\n</TOPICS>\n",
       {{"1", "H2O mills"}}},
      {"<inex_topic topic_id=\"544\" ct_no=\"6\"><title>mills</title><castitle>//p</castitle></inex_topic>",
       {{"544", "mills"}}},
      {"<events><event><id>1</id><title>2012 Mill Fire</title><query>mill fire</query></event></events>",
       {{"1", "mill fire"}}},
      // Indri
      {"<parameters><query><number>301</number><text>#combine(water mill)</text></query></parameters>\n",
       {{"301", "water mill"}}},
      {"<parameters>\n<index>x</index>\n<query><type>indri</type><number>302</number><text>C# "
       "mill</text></query></parameters>",
       {{"302", "C# mill"}}},
  };
  for (const auto& [bytes, queries] : kinds) {
    INFO(bytes);
    const QueryFile found = automatic(bytes);
    CHECK(found.queries == queries);
    CHECK(parse_queries(bytes, found.format, "test.queries").queries == queries);
  }
}

TEST_CASE("A topic without a known query is refused with its tags, and read by a tag's name",
          "[format][query_file][reports]") {
  const auto named = [](std::vector<std::string> text_fields, std::string id_field = {}) {
    QueryLayout layout;
    layout.id_field = std::move(id_field);
    layout.text_fields = std::move(text_fields);
    return layout;
  };
  // Background linking in 2018 and 2019.
  const std::string linking = "\n<top>\n<num> Number: 321 </num>\n<docid>9171debc</docid>\n<url>u</url>\n</top>\n";
  CHECK(complaint(linking).find("test.queries, line 2: the topic that begins here has no query in one of the usual "
                                "tags, but the tags 'docid', 'url'") == 0);
  CHECK(complaint(linking).find(option_name<"text-field">) != std::string::npos);
  CHECK(parse_queries(linking, named({"URL", "docid"}), "test.queries").queries == Queries{{"321", "u 9171debc"}});
  const std::string noted = "<topic number='1'>miller<note>dust</note></topic>";
  CHECK(complaint(noted).find("'note'") != std::string::npos);
  CHECK(parse_queries(noted, named({"topic"}), "test.queries").queries == Queries{{"1", "miller"}});
  CHECK(parse_queries(noted, named({"topic", "note"}), "test.queries").queries == Queries{{"1", "miller dust"}});
  CHECK(parse_queries(noted, named({"note", "topic", "note"}), "test.queries").queries ==
        Queries{{"1", "dust miller"}});
  const std::string repeated = "<top><num>1<desc>wind<title>mill<desc>mills<narr>long</top>";
  CHECK(parse_queries(repeated, named({"title", "desc"}), "test.queries").queries == Queries{{"1", "mill wind mills"}});
  CHECK(parse_queries(repeated, named({"desc", "title"}), "test.queries").queries == Queries{{"1", "wind mills mill"}});
  CHECK(complaint(noted, named({"title", "gist"}))
            .find("has no query in one of the named tags (title, gist), but the "
                  "tags 'note'") != std::string::npos);
  CHECK(complaint("<topic number='1'>miller<disease>dust</disease></topic>").find("'disease'") != std::string::npos);
  const std::string french = "<topic lang='fr' code='7'><title>moulin</title><gist>eau</gist></topic>";
  CHECK(complaint(french).find("has no number") != std::string::npos);
  CHECK(parse_queries(french, named({"title", "gist"}, "code"), "test.queries").queries ==
        Queries{{"7", "moulin eau"}});
  CHECK(parse_queries(french, named({}, "gist"), "test.queries").queries == Queries{{"eau", "moulin"}});
  CHECK(complaint("<query><number>1</number><text>#combine(water #1(mill wheel))</text></query>")
            .find("the operator #1 of Indri") != std::string::npos);
  for (const char* text : {"#weight(2 water 1 mill)", "#combine(#1(water mill) wheel)", "#combine[title](mill)",
                           "#combine(mill.(title))", "#uw8(water mill)"}) {
    INFO(text);
    CHECK(complaint("<parameters><query><number>1</number><text>" + std::string(text) + "</text></query></parameters>")
              .find("of Indri") != std::string::npos);
  }
  CHECK(complaint("7\tmill\n", named({"title"})).find(option_name<"text-field">) != std::string::npos);
}

TEST_CASE("Tags are found wherever they stand in a long file of topics", "[format][query_file]") {
  const std::string blanks(std::size_t{1} << 20, ' ');
  for (const std::string& filling : {blanks, "<!--" + blanks.substr(100) + "-->", "<narr>" + blanks, "<a " + blanks,
                                     "<![CDATA[" + blanks.substr(100) + "]]>"}) {
    std::string text;
    Queries wanted;
    // Windows end within a tag, before it and after it.
    for (int i = 1; i <= 40; ++i) {
      text += "<top>" + filling.substr(0, filling.size() - static_cast<std::size_t>(i));
      text += filling.substr(filling.size() - static_cast<std::size_t>(i)) + "<num>" + std::to_string(i) +
              "<title>mill</top>";
      wanted.push_back({std::to_string(i), "mill"});
    }
    CHECK(automatic(text).queries == wanted);
  }
}
