#include <chrono>
#include <functional>
#include <string>

#include "quern/text/html.hpp"
#include "quern/text/html_scanner.hpp"

#include "../text/plain_document.hpp"
#include "catch.hpp"

using namespace quern;
using quern::testing::PlainDocument;

namespace {

PlainDocument extracted(std::string_view html, std::string_view url = "http://host.org/folder/page") {
  DocumentText out;
  HtmlExtractor().extract(html, url, out);
  return PlainDocument(out);
}

/// The body with "|" for each phrase end.
std::string body_of(std::string_view html) {
  std::string body = extracted(html).body;
  for (char& c : body) c = c == phrase_end ? '|' : c;
  return body;
}

/// The scanner's events as text.
std::string scanned(std::string_view page) {
  struct Recorder final : HtmlEvents {
    void text(std::string_view text, bool) override { all += text; }
    void space() override { all += "[ ]"; }
    void end_phrase() override { all += "[br]"; }
    void begin_link(std::string_view href) override { all.append("[a ").append(href) += ']'; }
    void end_link() override { all += "[/a]"; }
    void area(std::string_view href) override { all.append("[area ").append(href) += ']'; }
    void base(std::string_view href) override { all.append("[base ").append(href) += ']'; }
    void title(std::string_view text) override { all.append("[title ").append(text) += ']'; }
    std::string all;
  };
  Recorder recorder;
  HtmlScanner scanner(recorder);
  scanner.append(page);
  scanner.finish();
  return recorder.all;
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("A page's title, text and links are extracted", "[text]") {
  const PlainDocument page = extracted(
      "<!DOCTYPE html>\n<html><head><title> Fish &amp;\n Chips </title><style>p {}</style></head>\n"
      "<body><h1>Menu</h1>\n<p>Try our <a href=\"cod.html\">fresh\n <b>cod</b></a> &mdash; it&#39;s "
      "good.</p></body></html>");
  CHECK(page.title == "Fish & Chips");
  CHECK(page.body == "Menu\x1eTry our fresh\n cod \xE2\x80\x94 it's good.");
  REQUIRE(page.links.size() == 1);
  CHECK(page.links[0].url == "http://host.org/folder/cod.html");
  CHECK(page.links[0].anchor == "fresh cod");
}

TEST_CASE("Tags that format a part of a word don't separate tokens", "[text][reports]") {
  CHECK(body_of("Text&shy;datei Wort<wbr>umbruch un<b>bold</b>ed <span>in</span>line H<SUB>2</sub>O") ==
        "Text\xC2\xAD"
        "datei Wortumbruch unbolded inline H2O");
  for (const char* tag : {"b", "i", "em", "strong", "span", "a", "font", "sub", "sup", "u", "mark", "small", "big",
                          "tt", "code", "a href=x", "abbr title='y'"})
    CHECK(body_of("<p>x<" + std::string(tag) + ">y</" + tag + ">z <" + tag + "> w</p>") == "xyz w");
  CHECK(body_of("a<b>c<br></b>d<p>e<i>f</i><div>g") == "ac|d|ef|g");
  const PlainDocument page = extracted("un<a href=1>link</a>ed<a href=2>two</a>");
  CHECK(page.body == "unlinkedtwo");
  CHECK(page.links[0].anchor == "link");
}

TEST_CASE("Other tags separate tokens, entities and comments don't", "[text]") {
  CHECK(body_of("a<unknown>c") == "a c");
  CHECK(body_of("a<img src=x alt=y>c") == "a c");
  CHECK(body_of("w&NoBreak;j zs&ZeroWidthSpace;p &Zcaron;i&zcaron;ka&comma; &CloseCurlyDoubleQuote;") ==
        "w\u2060j zs\u200bp \u017di\u017eka, \u201d");
  CHECK(body_of("&comma &Zcaron &9; &nosuch; &rarrw;") == "&comma &Zcaron &9; &nosuch; &rarrw;");
  CHECK(body_of("caf&eacute;s &#x43;&#65;T") == "caf\xC3\xA9s CAT");
  CHECK(body_of("a<!-- <p> -->b") == "ab");
  CHECK(body_of("a&b; c&d &amp e &;") == "a&b; c&d & e &;");
  CHECK(body_of("caf&eacute 1 &lt;p&gt;") == "caf\xC3\xA9 1 <p>");
  CHECK(body_of("1&nbsp2&frac12x&#65 &#x42&#67") ==
        "1\xC2\xA0"
        "2\xC2\xBDxA BC");
  CHECK(body_of("&#; &# &#x; &#xg &; && &e; &aposx &notin; &notx") ==
        "&#; &# &#x; &#xg &; && &e; &aposx \xE2\x88\x89 \xC2\xACx");
}

TEST_CASE("Characters that XML does not allow are dropped", "[text]") {
  CHECK(body_of("a\fb&#12;c&#0;d&#xD800;e&#1114112;f&#99999999999;g&#xFFFE;h") == "abcdefgh");
  CHECK(body_of("a\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBC\xA1") == "a\xEF\xBC\xA1");
  CHECK(body_of("a&#9;b&#13;c&#x80;&#x10FFFF;") == "a\tb\rc\xC2\x80\xF4\x8F\xBF\xBF");
}

TEST_CASE("Block-level tags end a phrase, once", "[text]") {
  CHECK(body_of("<p>a</p>\n\n<p> b <i>c</i>\n</p><ul><li>d<li>e</ul>f<br/>g<HR>h") == "a|b c|d|e|f|g|h");
  CHECK(body_of("<table><tr><td>a</td><td>b</td></tr></table>") == "a|b");
  CHECK(body_of("  <div></div> \n") == "");
  CHECK(body_of("a<b><p></p></b>c") == "a|c");
}

TEST_CASE("Long text arrives complete", "[text]") {
  const std::string word = repeated("\xC3\xA9", 5000);
  CHECK(extracted("<p>" + word + "</p>").body == word);
  CHECK(extracted("<title>" + word + "</title>").title == word);
}

TEST_CASE("Content that a browser doesn't show is dropped", "[text]") {
  CHECK(body_of("a<script>if (a<b) x='</p>';</script>b") == "a b");
  CHECK(body_of("a<SCRIPT type=x>'<script>'</script\n>b") == "a b");
  CHECK(body_of("a<style>p{}</style>b<noscript><p>c</noscript>d<template>e</template>f") == "a b d f");
  CHECK(body_of("a<iframe src=x>old</iframe>b<script src=x/>c</script>d") == "a b d");
  CHECK(body_of("a<script src='x' />b") == "a b");
  CHECK(body_of("a<!-- b") == "a");
  CHECK(body_of("a<!-->b<!--->c<!-- - -- > -->d") == "abcd");
  CHECK(body_of("a<?php b ?>c<!ELEMENT d>e</ f>g") == "aceg");
  CHECK(body_of("a<![CDATA[b]]>c") == "ac");
  CHECK(body_of("a<p title='b") == "a");
}

TEST_CASE("Text that only looks like a tag stays text", "[text]") {
  CHECK(body_of("1 < 2 <3 << 4<") == "1 < 2 <3 << 4<");
  CHECK(body_of("a<<!-- x -->p>b") == "a<p>b");
  CHECK(body_of("a<1>b") == "a<1>b");
}

TEST_CASE("Text after the end of the page counts", "[text]") {
  CHECK(body_of("<html><body>a</body></html>b<p>c</whole_page></p>d") == "a|b|c|d");
  CHECK(body_of("plain text") == "plain text");
  CHECK(body_of("</html>a") == "a");
  CHECK(body_of("") == "");
}

TEST_CASE("The first title in the page is its title", "[text]") {
  CHECK(extracted("<svg><title>no</title></svg><TITLE>yes</TITLE><title>no</title>").title == "yes");
  CHECK(extracted("<title>a <b>bold</b> &lt;x&gt;</title>").title == "a <b>bold</b> <x>");
  CHECK(extracted("<p>a</p>").title.empty());
  const PlainDocument late = extracted("<p>a<title>b</title>c");
  CHECK(late.title == "b");
  CHECK(late.body == "a c");
  const PlainDocument unclosed = extracted("<head><title>a<body><p>b");
  CHECK(unclosed.title.empty());
  CHECK(unclosed.body ==
        "a\x1e"
        "b");
}

TEST_CASE("Links are resolved against the page or its base", "[text]") {
  const auto url_of = [](std::string_view html) {
    const PlainDocument page = extracted(html);
    REQUIRE(page.links.size() == 1);
    return page.links[0].url;
  };
  CHECK(url_of("<a href=x>") == "http://host.org/folder/x");
  CHECK(url_of("<A\nCLASS = y HREF = '../x?a=1&amp;b=2#c' >") == "http://host.org/x?a=1&b=2#c");
  CHECK(url_of("<a href=\"x>y\" href=z>t</a>") == "http://host.org/folder/x>y");
  CHECK(url_of("<a href=x/>") == "http://host.org/folder/x/");
  CHECK(url_of("<base href='//b.org/c/'><base href=d><a href=x>") == "http://b.org/c/x");
  CHECK(url_of("<base href='../up/'><a href=x>") == "http://host.org/up/x");
  CHECK(url_of("<base href='javascript:'><a href=x>") == "http://host.org/folder/x");
  CHECK(url_of("<map><area href=x alt=y></map>") == "http://host.org/folder/x");
  CHECK(url_of("<a href='x'y>") == "http://host.org/folder/x");
  CHECK(url_of("<a href>") == "http://host.org/folder/page");
  CHECK(url_of("<a href\f=\f'x'>") == "http://host.org/folder/x");
  // References in URLs need their semicolon, except for numbers; a number that is not a character ends the URL.
  CHECK(url_of("<a href='?a=1&copy=2&eacute;&#65B&#x43;'>") ==
        "http://host.org/folder/page?a=1&copy=2\xC3\xA9"
        "ABC");
  CHECK(url_of("<a href='a&#;b'>") == "http://host.org/folder/a");
  CHECK(url_of("<a href='a&x;&amp.;&'>") == "http://host.org/folder/a&x;&amp.;&");
}

TEST_CASE("Only clickable elements are links", "[text]") {
  CHECK(extracted("<a name=x>y</a><a href='javascript:x'>y</a><link href=x><frame src=x><iframe src=y>").links.empty());
  CHECK(extracted("<!-- <a href=x> --><script>'<a href=x>'</script><title><a href=x></title>").links.empty());
  CHECK(extracted("<a hrefs=x data-href=y title='href=z'>").links.empty());
  CHECK(extracted("<a href=x", "http://host.org/").links.empty());
}

TEST_CASE("A link's text ends at its end tag or at the next link", "[text]") {
  const PlainDocument page = extracted(
      "<a href=1> one\n<b>two</b> </a>no<a href=2>three<a href=3>four<a>no</a> <a href=4><p>five</p>"
      "<area href=5>six</div></a><a href=6></a><a href=7>seven");
  REQUIRE(page.links.size() == 7);
  const char* anchors[] = {"one two", "three", "four", "five six", "", "", "seven"};
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(page.links[i].url == "http://host.org/folder/" + std::to_string(i + 1));
    CHECK(page.links[i].anchor == anchors[i]);
  }
}

TEST_CASE("Dropping blanks at a phrase's end doesn't shift a link's text", "[text]") {
  const PlainDocument page = extracted("a&#32;&#32;&#32;<a href=x><p>\xC3\xA9\xC3\xA9\xC3\xA9</a>");
  CHECK(page.body == "a\x1e\xC3\xA9\xC3\xA9\xC3\xA9");
  REQUIRE(page.links.size() == 1);
  CHECK(page.links[0].anchor == "\xC3\xA9\xC3\xA9\xC3\xA9");
}

TEST_CASE("A declared charset, NUL entities and unknown bytes change nothing", "[text]") {
  CHECK(body_of("<meta charset=utf-16><meta http-equiv=content-type content='text/html; charset=koi8-r'>\xC3\xA9") ==
        "\xC3\xA9");
  CHECK(body_of("<?xml version='1.0' encoding='shift_jis'?>\xC3\xA9") == "\xC3\xA9");
  CHECK(body_of("a&#0;b&#30;c") == "abc");
  CHECK(body_of("a\xEF\xBF\xBF"
                "b")
            .front() == 'a');
}

TEST_CASE("An extractor can be used for many pages", "[text]") {
  HtmlExtractor extractor;
  DocumentText out;
  out.docno = "D1";
  for (int i = 0; i < 100; ++i) {
    extractor.extract("<title>t<svg><noscript>", "", out);
    const std::string number = std::to_string(i);
    extractor.extract("<title>t" + number + "</title><a href=http://a/" + number + ">b" + number, "", out);
    CHECK(out.docno == "D1");
    CHECK(out.title.str() == "t" + number);
    CHECK(out.body.str() == "b" + number);
    REQUIRE(out.links.count() == 1);
    CHECK(out.links.all()[0] == Link{"http://a/" + number, "b" + number});
  }
}

TEST_CASE("The scanner reports few tags and never two separators in a row", "[text]") {
  CHECK(scanned("<p><b>a</b> </p>\n<p>b</p><A class=c HREF=x>d</A></a>") == "a [br]b[br][a x]d[/a]");
  CHECK(scanned("a <i> b</i><area HREF = \"&amp;>\"><base href><title>t<b></title>c&lt;<a>") ==
        "a b[ ][area &amp;>][base ][title t<b>]c&lt;");
  CHECK(scanned("").empty());
}

TEST_CASE("Links beyond the limit are dropped", "[text]") {
  HtmlExtractor extractor;
  DocumentText out;
  extractor.extract(repeated("<a href=x>y", HtmlExtractor::max_links + 10), "http://a/", out);
  CHECK(out.links.count() == HtmlExtractor::max_links);
  extractor.extract("<base href='http://a/" + std::string(2000, 'b') + "/'>" + repeated("<a href=x>y", 20000), "", out);
  CHECK(out.links.count() == HtmlExtractor::max_link_bytes / (std::string("http://a/").size() + 2002));
  CHECK(out.links.all().back().anchor == "y");
}

TEST_CASE("Hostile pages take linear time", "[text][property]") {
  using Make = std::function<std::string(std::size_t)>;
  const auto repeat = [](std::string piece) -> Make {
    return [piece](std::size_t bytes) { return repeated(piece, bytes / piece.size()); };
  };
  const auto attributes = [](std::string_view start, std::string_view value) -> Make {
    return [start, value](std::size_t bytes) {
      std::string page(start);
      for (std::size_t i = 0; page.size() < bytes; ++i) page.append(" a").append(std::to_string(i)).append(value);
      return page;
    };
  };
  const Make makers[] = {repeat("<div>"),
                         repeat("<b>"),
                         repeat("<a href=x>"),
                         repeat("<table><tr><td>"),
                         repeat("<font><i><p>x<b><a><div>"),
                         repeat("</i>"),
                         repeat("x"),
                         repeat("<"),
                         repeat("< "),
                         repeat("&"),
                         repeat("&a"),
                         repeat("&#"),
                         repeat("<!--"),
                         repeat("<!-- -- >"),
                         repeat("<![CDATA["),
                         repeat("<?"),
                         repeat("</"),
                         repeat("</a"),
                         repeat("<a href=\""),
                         repeat("<a b='\"<"),
                         repeat("<script>"),
                         repeat("<script></scrip"),
                         repeat("<style><"),
                         repeat("<title>"),
                         repeat("<title>x</title>"),
                         repeat("<svg><title>"),
                         repeat("<noscript>"),
                         repeat("</title"),
                         repeat("<title></titl"),
                         repeat("<base href=http://a/b/>"),
                         repeat("<html><body>"),
                         repeat("</html>"),
                         attributes("<a", " "),
                         attributes("<p", "='>'"),
                         attributes("<a>", ""),
                         [](std::size_t bytes) { return repeated("<b>", bytes / 7) + repeated("</i>", bytes / 7); },
                         [](std::size_t bytes) { return "<a href=\"" + std::string(bytes, 'x') + "\">"; },
                         [](std::size_t bytes) { return "&" + std::string(bytes, 'x'); }};
  // 2 MB per page: quadratic work takes minutes, linear work well below a second, even on a slow machine.
  HtmlExtractor extractor;
  for (std::size_t i = 0; i < std::size(makers); ++i) {
    const std::string page = makers[i](2'000'000);
    DocumentText out;
    const auto start = std::chrono::steady_clock::now();
    extractor.extract(page, "http://a/", out);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    INFO("page " << i << ", which begins " << page.substr(0, 30));
    CHECK(seconds.count() < 20);
    CHECK(out.body.size() <= page.size());
  }
}

TEST_CASE("A long text without tags stays complete", "[text]") {
  const std::string text = repeated("grind ", 10'000'000);
  CHECK(extracted(text).body.size() == text.size() - 1);
}
