#pragma once
#include <string>

/// Corpora for tests of the command line.
namespace quern::testing {

/// Four pages about mills, one of them empty, on two hosts that are not in URL order; pages link to each other.
inline const std::string small_trecweb =
    "<DOC>\n<DOCNO>M-1</DOCNO>\n<DOCHDR>\nhttp://www.mill.example/wheel\n</DOCHDR>\n"
    "<html><title>The Wheel</title><body>Water turns the wheel of the mill. <a "
    "href=\"/stone\">stones</a></body></html>\n"
    "</DOC>\n"
    "<DOC>\n<DOCNO>M-2</DOCNO>\n<DOCHDR>\nhttp://a.example/wind\n</DOCHDR>\n"
    "<html><title>Wind</title><body>Wind turns a mill too; a wind mill.</body></html>\n</DOC>\n"
    "<DOC>\n<DOCNO>M-3</DOCNO>\n<DOCHDR>\nhttp://www.mill.example/stone\n</DOCHDR>\n"
    "<html><title>Stones</title><body>Two stones grind. The lower stone lies still.</body></html>\n</DOC>\n"
    "<DOC>\n<DOCNO>M-4</DOCNO>\n<DOCHDR>\nhttp://www.mill.example/empty\n</DOCHDR>\n<html></html>\n</DOC>\n";

inline const std::string small_jsonl =
    "{\"id\":\"a\",\"contents\":\"water mill\"}\n"
    "{\"id\":\"b\",\"contents\":\"wind mill mill\"}\n"
    "{\"id\":\"c\",\"contents\":\"water wheel\"}\n";

}  // namespace quern::testing
