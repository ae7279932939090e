#include "quern/index/exchange/interchange_format.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "quern/formats/posting_reader.hpp"
#include "quern/io/atomic_output.hpp"

namespace quern {

namespace {

/// Releases pages of a mapped index during a sequential read, some MiB at a time.
class PassedPages {
 public:
  explicit PassedPages(const IndexReader& index) : container_(index.container()) {}
  /// Notes that about this many bytes were read.
  void note(std::uint64_t bytes) {
    constexpr std::uint64_t bytes_per_release = 4 << 20;
    passed_ += bytes;
    if (passed_ < bytes_per_release) return;
    container_.release();
    passed_ = 0;
  }

 private:
  const ContainerReader& container_;
  std::uint64_t passed_ = 0;
};

/// Approximate bytes of a list without its term and postings, and of a document without its docno.
constexpr std::uint64_t list_row_bytes = 32, document_row_bytes = 8;

void export_list(const IndexReader& index, std::string_view term, const PostingList& list, PassedPages& pages,
                 InvertedSink& sink) {
  PostingCheck check(index.num_documents());
  BlockReader reader(index, list);
  std::uint64_t postings = 0;
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    const auto docids = reader.docids();
    const auto freqs = reader.freqs();
    for (std::size_t i = 0; i < docids.size(); ++i) {
      if (const char* wrong = check.wrong(docids[i], freqs[i]))
        index.container().fail("postings", fmt::format("the list of '{}': {}", term, wrong));
      sink.add_posting(docids[i], freqs[i]);
    }
    postings += docids.size();
    pages.note(docids.size_bytes() + freqs.size_bytes());
  }
  pages.note(term.size() + list_row_bytes);
  if (postings != list.df)
    index.container().fail("postings", fmt::format("the df of '{}' differs from the length of its list", term));
  sink.end_list(term);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

void read_ciff_file(const std::string& path, InvertedSink& sink, const Resources& resources) {
  read_ciff(*ByteSource::open(path, resources), sink);
}

void write_ciff_file(const IndexReader& index, const std::string& path, bool force, const Resources& resources) {
  run_stage(resources, [&] {
    AtomicOutput out = AtomicOutput::file(path, force);
    CiffWriter writer(out.file(), resources.tmp_folder);
    export_index(index, writer, *resources.progress);
    out.commit();
  });
}

void read_ds2i_files(const std::string& path, InvertedSink& sink, const Resources& resources) {
  std::array<std::unique_ptr<ByteSource>, ds2i_endings.size()> sources;
  const std::uint64_t max_window_bytes = ByteSource::max_window_bytes(resources) / 2;  // each of the five files
  for (std::size_t i = 0; i < sources.size(); ++i)
    sources[i] = ByteSource::open(path + ds2i_endings[i], nullptr, max_window_bytes);
  read_ds2i({*sources[0], *sources[1], *sources[2], *sources[3], *sources[4]}, sink);
}

void write_ds2i_files(const IndexReader& index, const std::string& path, bool force, const Resources& resources) {
  run_stage(resources, [&] {
    std::vector<std::unique_ptr<AtomicOutput>> outputs;
    std::array<File*, ds2i_endings.size()> files{};
    for (std::size_t i = 0; i < files.size(); ++i) {
      outputs.push_back(
          std::unique_ptr<AtomicOutput>(new AtomicOutput(AtomicOutput::file(path + ds2i_endings[i], force))));
      files[i] = &outputs.back()->file();
    }
    Ds2iWriter writer(files, resources.tmp_folder);
    export_index(index, writer, *resources.progress);
    AtomicOutput::commit_together(outputs);
  });
}

}  // namespace

void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress) {
  const IndexManifest& manifest = index.manifest();
  sink.begin({manifest.terms, manifest.documents, manifest.statistics.documents, manifest.statistics.tokens});
  progress.start("export lists", manifest.postings, "postings");
  PassedPages pages(index);
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      export_list(index, term, list, pages, sink);
      progress.add(list.df);
    });
  }
  progress.finish();
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const std::string_view docno = index.docno(docid);
    sink.add_document(docno, index.length(docid));
    pages.note(docno.size() + document_row_bytes);
  }
  sink.end();
}

std::span<const InterchangeFormat> all_interchange_formats() {
  static constexpr InterchangeFormat formats[] = {
      {"ciff", "Common Index File Format: one file",
       [](const std::string& path) { return path == "-" || is_file(path); }, read_ciff_file, write_ciff_file},
      {"ds2i", "binary collection of ds2i and PISA: PATH.docs, .freqs, .sizes, .terms, .documents",
       [](const std::string& path) { return is_file(path + ds2i_endings.front()); }, read_ds2i_files, write_ds2i_files},
  };
  return formats;
}

const InterchangeFormat& interchange_format_named(std::string_view name) {
  return find_named(all_interchange_formats(), name, "inverted-file format");
}

const InterchangeFormat& detect_interchange_format(const std::string& path) {
  for (const InterchangeFormat& format : all_interchange_formats())
    if (format.is_at(path)) return format;
  throw InvalidArgument(path + ": neither this file nor " + path + ds2i_endings.front() + " exists");
}

}  // namespace quern
