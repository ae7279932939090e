#include "quern/corpus/corpus_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// Less than this at the window's front is not worth moving what follows.
constexpr std::size_t min_dropped_bytes = 64 << 10;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

/// Empties a text; gives its memory back where that is much more than usual (one huge document must not make every
/// batch huge for good).
void clear_text(std::string& text, std::uint64_t usual_bytes) {
  if (text.capacity() > 4 * (usual_bytes + ChunkStream::chunk_bytes)) std::string().swap(text);
  text.clear();
}

std::vector<std::string> file_names(const std::vector<CorpusFile>& files) {
  std::vector<std::string> names;
  for (const CorpusFile& file : files) names.push_back(file.path == "-" ? "standard input" : file.path);
  return names;
}

/// Of a file that is skipped: there are no records.
class NoRecords final : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 private:
  Step scan(std::string_view window, std::size_t, bool) override {
    return {Step::ran_out, window.size(), window.size()};
  }
};

}  // namespace

CorpusReader::CorpusReader(std::vector<CorpusFile> files, CorpusOptions options)
    : options_(std::move(options)), names_(file_names(files)) {
  if (options_.format != "auto") given_format_ = &corpus_format_named(options_.format);
  if (options_.batch_bytes == 0) throw InvalidArgument("a batch of 0 bytes can't be read; use at least 1");
  if (options_.max_document_bytes == 0) throw InvalidArgument("--max-document 0 allows no document; use at least 1");
  if (options_.max_document_bytes > std::uint64_t{4} << 30) {
    throw InvalidArgument("--max-document is at most 4G");
  }
  if (files.size() > std::numeric_limits<std::uint32_t>::max()) throw InvalidArgument("more than 2^32 corpus files");
  for (const CorpusFile& file : files) found_in_folder_.push_back(file.found_in_folder);
  chunks_ = std::make_unique<ChunkStream>(std::move(files));
}

CorpusReader::~CorpusReader() = default;

bool CorpusReader::next(RecordBatch& batch) {
  clear_text(batch.bytes, options_.batch_bytes);
  batch.records.clear();
  batch.bad.clear();
  batch.compressed_bytes = 0;
  batch.bytes.append(carry_);
  clear_text(carry_, options_.batch_bytes);
  window_begin_ = 0;

  // What the batch covers is counted in bytes of the files, so that it can't depend on how they were read.
  std::uint64_t covered_bytes = 0;
  std::uint64_t batch_from = window_offset_;
  while (covered_bytes + (window_offset_ - batch_from) < options_.batch_bytes) {
    if (!finder_) {
      covered_bytes += window_offset_ - batch_from;
      if (!read_chunk(batch)) return !batch.records.empty() || !batch.bad.empty();
      batch_from = window_offset_ = 0;
      begin_file(batch);
      continue;
    }
    const std::string_view window = std::string_view(batch.bytes).substr(window_begin_);
    const RecordFinder::Found found = finder_->next(window, window_offset_, file_is_read_);
    take(found, batch);
  }
  carry_.assign(batch.bytes, window_begin_);
  batch.bytes.resize(window_begin_);
  return true;
}

void CorpusReader::take(const RecordFinder::Found& found, RecordBatch& batch) {
  const std::size_t begin = window_begin_ + found.begin;
  switch (found.kind) {
    case RecordFinder::Found::record:
      batch.records.push_back({begin, found.size, file_, window_offset_ + found.begin, format_});
      advance(found.consumed);
      break;
    case RecordFinder::Found::bad:
      batch.bad.push_back({file_, found.offset, found.reason});
      advance(found.consumed);
      break;
    case RecordFinder::Found::need_more:
      if (found.consumed >= min_dropped_bytes) {
        batch.bytes.erase(window_begin_, found.consumed);
        window_offset_ += found.consumed;
      } else {
        advance(found.consumed);
      }
      read_chunk(batch);
      break;
    case RecordFinder::Found::end:
      advance(found.consumed);
      finder_.reset();
      break;
  }
}

void CorpusReader::reserve(std::string& bytes, std::size_t more_bytes) const {
  if (bytes.size() + more_bytes <= bytes.capacity()) return;
  // To copy a large record while it grows would hold it twice; so the capacity grows to the
  // maximum while the text is still small. Memory that is not written to costs nothing.
  const std::size_t largest = window_begin_ + options_.max_document_bytes + 2 * ChunkStream::chunk_bytes;
  const std::size_t next = 4 * bytes.capacity();
  bytes.reserve(std::max(bytes.size() + more_bytes, next < largest / 2 ? next : largest));
}

bool CorpusReader::read_chunk(RecordBatch& batch) {
  if (!chunks_->next(chunk_)) return false;
  reserve(batch.bytes, chunk_.bytes.size());
  batch.bytes.append(chunk_.bytes);
  batch.compressed_bytes += chunk_.compressed_bytes;
  file_ = chunk_.file;
  file_is_read_ = chunk_.last_of_file;
  return true;
}

void CorpusReader::begin_file(RecordBatch& batch) {
  const std::string_view window = std::string_view(batch.bytes).substr(window_begin_);
  if (file_is_read_ && is_blank(window)) {
    empty_files_.push_back(names_[file_]);
    advance(window.size());
    return;
  }
  format_ = format_of_file(window.substr(0, detection_bytes));
  if (format_) {
    finder_ = format_->make_finder(options_.max_document_bytes);
  } else {
    skipped_files_.push_back(names_[file_]);
    finder_ = std::make_unique<NoRecords>(options_.max_document_bytes);
  }
}

const CorpusFormat* CorpusReader::format_of_file(std::string_view head) const {
  if (given_format_) return given_format_;
  return found_in_folder_[file_] ? find_corpus_format(head) : &detect_corpus_format(head, names_[file_]);
}

}  // namespace quern
