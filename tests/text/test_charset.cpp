#include <string>

#include "quern/text/utf8.hpp"

#include "catch.hpp"
#include "converted.hpp"

using namespace quern;
using quern::testing::converted;

TEST_CASE("A byte order mark outweighs the header, the header a meta tag", "[text]") {
  const std::string meta = "<html><head><meta charset=koi8-r>";
  CHECK(html_charset("text/html; charset=Windows-1251", "\xEF\xBB\xBF" + meta) == "utf-8");
  CHECK(html_charset("text/html", "\xFF\xFE<") == "utf-16le");
  CHECK(html_charset("text/html", "\xFE\xFF<") == "utf-16be");
  CHECK(html_charset("text/html; charset=Windows-1251", meta) == "windows-1251");
  CHECK(html_charset("text/html; Charset = \"shift_jis\" ; x=y", meta) == "shift_jis");
  CHECK(html_charset("text/html", meta) == "koi8-r");
  CHECK(html_charset("", "") == "utf-8");
}

TEST_CASE("A meta tag or XML declaration names its charset in several forms", "[text]") {
  CHECK(html_charset("", "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=EUC-JP'>") == "euc-jp");
  CHECK(html_charset("", "<meta content=\"text/html; charset=big5\" http-equiv=content-type/>") == "big5");
  CHECK(html_charset("", "<meta charset = 'gb2312'>") == "gbk");
  CHECK(html_charset("", "<meta name=x><meta charset=\"iso-8859-2\">") == "iso-8859-2");
  CHECK(html_charset("", "<!-- <meta charset=koi8-r> --><p>charset=big5") == "utf-8");
  CHECK(html_charset("", "<meta charset=utf-16>") == "utf-8");
  CHECK(html_charset("", "<meta charset=>") == "utf-8");
  CHECK(html_charset("", "<?xml version='1.0' encoding=\"ISO-8859-2\"?><html>") == "iso-8859-2");
  CHECK(html_charset("", "<?xml encoding='koi8-r'?><meta charset=big5>") == "big5");
  CHECK(html_charset("", "<?xml encoding='utf-16'?>") == "utf-8");
  CHECK(html_charset("", std::string(1024, ' ') + "<meta charset=koi8-r>") == "utf-8");
}

TEST_CASE("Latin-1 and ASCII mean windows-1252", "[text]") {
  CHECK(html_charset("text/html; charset=ISO-8859-1", "") == "windows-1252");
  CHECK(html_charset("text/html; charset=us-ascii", "") == "windows-1252");
  CHECK(converted("caf\xE9 \x93quoted\x94", "iso-8859-1") == "caf\xC3\xA9 \xE2\x80\x9Cquoted\xE2\x80\x9D");
}

TEST_CASE("Text is converted to UTF-8", "[text]") {
  CHECK(converted("\xCF\xF0\xE8\xE2\xE5\xF2", "Windows-1251") == "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82");
  CHECK(converted("\x93\xFA\x96\x7B", "shift_jis") == "\xE6\x97\xA5\xE6\x9C\xAC");
  CHECK(converted(std::string_view("\xFF\xFEH\0i\0", 6), "utf-16le") == "Hi");
  CHECK(converted(std::string(100000, '\xE9'), "iso-8859-2").value().size() == 200000);
}

TEST_CASE("Invalid bytes become replacement characters", "[text]") {
  CHECK(converted("a\xFFz", "euc-jp") == "a" + std::string(replacement_character) + "z");
  CHECK(converted("ab\x93", "shift_jis") == "ab" + std::string(replacement_character));
  const std::string out = converted(std::string_view("\x00\xD8z\0", 4), "utf-16le").value();
  CHECK(is_valid_utf8(out));
  CHECK(out.substr(out.size() - 1) == "z");
}

TEST_CASE("Unknown charsets, UTF-8 itself and converter instructions convert nothing", "[text]") {
  for (const char* charset : {"klingon", "", "utf-8", "UTF8", "ascii//translit", "latin2//IGNORE"})
    CHECK_FALSE(converted("text", charset));
}
