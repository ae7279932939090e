#include "quern/formats/corpus/corpus_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quern/core/named.hpp"
#include "quern/formats/corpus/jsonl.hpp"
#include "quern/formats/corpus/trectext.hpp"
#include "quern/formats/corpus/trecweb.hpp"
#include "quern/formats/corpus/warc.hpp"

namespace quern {
namespace {

/// Forms that a corpus is often found in but that are not read: better told than called unknown.
struct KnownStranger {
  std::string_view magic;
  std::string_view what;
};
constexpr KnownStranger known_strangers[] = {
    {"filedesc://", "an ARC file, which is not read; convert it to WARC first"},
    {"\x1f\x9d", "compressed by compress (.Z), which is not read; unpack it first, as with gzip -d"},
    {"BZh", "compressed by bzip2, which is not read; unpack it first, or pack it with gzip or zstd"},
    {"\xfd"
     "7zXZ",
     "compressed by xz, which is not read; unpack it first, or pack it with gzip or zstd"},
    {"PK\x03\x04", "a zip archive, which is not read; unpack it first"},
};

}  // namespace

const std::vector<const CorpusFormat*>& all_corpus_formats() {
  // A TRECWEB file would also pass as TRECTEXT, so it is tried first.
  static const std::vector<const CorpusFormat*> formats = {&trecweb_format(), &trectext_format(), &warc_format(),
                                                           &jsonl_format()};
  return formats;
}

const CorpusFormat& corpus_format_named(std::string_view name) {
  return find_named(all_corpus_formats(), name, "corpus format");
}

const CorpusFormat& detect_corpus_format(std::string_view head, const std::string& file_name) {
  for (const CorpusFormat* format : all_corpus_formats()) {
    if (format->detect(head)) return *format;
  }
  for (const KnownStranger& stranger : known_strangers) {
    if (head.substr(0, stranger.magic.size()) == stranger.magic) {
      throw InvalidArgument(file_name + ": this is " + std::string(stranger.what));
    }
  }
  throw InvalidArgument(file_name + ": this is no corpus of a known format (" +
                        fmt::format("{}", fmt::join(names_of(all_corpus_formats()), ", ")) +
                        "); if it is one all the same, say which with --format, else leave it out");
}

}  // namespace quern
