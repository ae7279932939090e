#include "quern/core/random.hpp"
#include "quern/text/text_block.hpp"

#include "catch.hpp"

namespace quern {
namespace {

/// The lines of a title and a body whose phrases end with '|', in pieces of at most `max_bytes`.
std::string kept_text(std::string title, std::string body, std::size_t max_bytes = 1000) {
  TextLines lines;
  std::string text;
  const auto add = [&](std::string& stream) {
    for (char& c : stream)
      if (c == '|') c = phrase_end;
    std::string_view left = stream;
    while (!left.empty()) {
      lines.append(left.substr(0, max_bytes), text);
      left.remove_prefix(std::min(max_bytes, left.size()));
    }
  };
  add(title);
  lines.end_title(text);
  add(body);
  lines.finish(text);
  return text;
}

}  // namespace

TEST_CASE("A stored text has a line for the title and one for each phrase", "[text]") {
  CHECK(kept_text("Old Mill", "Stones turn.|The wheel|") == "Old Mill\nStones turn.\nThe wheel\n");
  CHECK(kept_text("", "") == "\n");
  CHECK(kept_text("", "mill") == "\nmill\n");
  CHECK(kept_text("Mill", "") == "Mill\n");
  CHECK(kept_text(" \t a \n\r b |", " \v c\f d | | || e\n\nf ") == "a b\nc d\ne f\n");
  CHECK(kept_text("a|b||c", "|") == "a b c\n");
  CHECK(kept_text("|", " | \n|") == "\n");
  CHECK(kept_text("M\u00fchle", "\u00a0x\u3000y") == "M\u00fchle\n\u00a0x\u3000y\n");
}

TEST_CASE("A stored text does not depend on the ends of pieces", "[text][property]") {
  RandomBits random(91);
  for (int i = 0; i < 300; ++i) {
    std::string streams[2];
    for (std::string& stream : streams)
      for (std::uint64_t size = random.below(40); size > 0; --size) stream += "ab  |\n\t"[random.below(7)];
    const std::string whole = kept_text(streams[0], streams[1]);
    for (const std::size_t max_bytes : {1u, 2u, 3u, 7u}) CHECK(kept_text(streams[0], streams[1], max_bytes) == whole);
    CHECK(whole.back() == '\n');
    CHECK(whole.find("\n\n", 1) == std::string::npos);
    CHECK(whole.find("  ") == std::string::npos);
    CHECK(whole.find(" \n") == std::string::npos);
    CHECK(whole.find("\n ") == std::string::npos);
  }
}

TEST_CASE("One object writes several texts", "[text]") {
  TextLines lines;
  std::string first, second;
  for (std::string* text : {&first, &second}) {
    lines.append("Title ", *text);
    lines.end_title(*text);
    lines.append("body ", *text);
    lines.finish(*text);
  }
  CHECK(first == "Title\nbody\n");
  CHECK(second == first);
}

}  // namespace quern
