#include "quern/corpus/corpus_format.hpp"

#include "quern/core/error.hpp"
#include "quern/formats/jsonl.hpp"
#include "quern/formats/trectext.hpp"
#include "quern/formats/trecweb.hpp"
#include "quern/formats/warc.hpp"

namespace quern {
namespace {

std::string format_names() {
  std::string names;
  for (const CorpusFormat* format : all_corpus_formats()) {
    if (!names.empty()) names += ", ";
    names += format->name();
  }
  return names;
}

}  // namespace

const std::vector<const CorpusFormat*>& all_corpus_formats() {
  // A TRECWEB file would also pass as TRECTEXT, so it is tried first.
  static const std::vector<const CorpusFormat*> formats = {&trecweb_format(), &trectext_format(), &warc_format(),
                                                           &jsonl_format()};
  return formats;
}

const CorpusFormat& corpus_format_named(std::string_view name) {
  for (const CorpusFormat* format : all_corpus_formats()) {
    if (format->name() == name) return *format;
  }
  throw InvalidArgument("no corpus format is called '" + std::string(name) + "'; there are auto, " + format_names());
}

const CorpusFormat& detect_corpus_format(std::string_view head, const std::string& file_name) {
  for (const CorpusFormat* format : all_corpus_formats()) {
    if (format->detect(head)) return *format;
  }
  if (head.substr(0, 11) == "filedesc://") {
    throw InvalidArgument(file_name + ": this is an ARC file, which is not read; convert it to WARC first");
  }
  throw InvalidArgument(file_name + ": this is no corpus of a known format (" + format_names() +
                        "); if it is one all the same, say which with --format, else leave it out");
}

}  // namespace quern
