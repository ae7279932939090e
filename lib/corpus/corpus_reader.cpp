#include "quern/corpus/corpus_reader.hpp"

#include "quern/formats/tables/sparse_matrix.hpp"
#include "quern/io/file.hpp"
#include "quern/io/piece_source.hpp"
#include "quern/text/utf8.hpp"

namespace quern {

ChunkStream::ChunkStream(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage,
                         std::string tmp_folder)
    : files_(files),
      max_window_bytes_(max_window_bytes),
      damage_(damage),
      tmp_folder_(std::move(tmp_folder)),
      used_(max_ready),
      thread_([this] { run(); }) {}

ChunkStream::~ChunkStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  interrupt_.stop();
  files_.stop();
  thread_.join();
}

bool ChunkStream::next(Chunk& chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || done_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  std::swap(chunk, ready_.front());
  used_.push_back(std::move(ready_.front()));
  ready_.erase(ready_.begin());
  lock.unlock();
  changed_.notify_all();
  return true;
}

void ChunkStream::run() {
  std::exception_ptr failure;
  try {
    for (std::uint32_t file = 0; file < files_.size(); ++file) read_file(file);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    failure_ = failure;
  }
  changed_.notify_all();
}

void ChunkStream::read_file(std::uint32_t file) {
  std::shared_ptr<DamageSkippingSource> skipping =
      damage_ == Damage::skip ? files_.open_skipping_damage(file, interrupt_, max_window_bytes_) : nullptr;
  std::shared_ptr<ByteSource> source = skipping ? skipping : files_.open(file, interrupt_, max_window_bytes_);
  const std::optional<std::string> head = files_.head_of_range(MatrixHeader::bytes);
  if (head && read_matrix_header(*head))
    throw InvalidArgument("{}: is a sparse matrix, which can't be read in ranges; read it whole", source->name());
  std::uint64_t compressed_bytes = 0;
  bool is_start = true;
  Chunk chunk;
  do {
    chunk.bytes.resize(chunk_bytes);
    const std::span<std::uint8_t> room(reinterpret_cast<std::uint8_t*>(chunk.bytes.data()), chunk_bytes);
    const std::size_t size = read_fully(*source, room);
    chunk.bytes.resize(size);
    if (std::exchange(is_start, false) && read_matrix_header(chunk.bytes)) {
      skipping.reset();  // damage cuts a matrix short
      source = std::make_shared<MatrixLines>(std::move(chunk.bytes), std::move(source), tmp_folder_);
      continue;
    }
    chunk.file = file;
    chunk.damage = skipping && size < chunk_bytes ? skipping->take_damage() : std::nullopt;
    chunk.last_of_file = size < chunk_bytes && !chunk.damage;
    chunk.compressed_bytes = source->compressed_bytes_read() - compressed_bytes;
    compressed_bytes = source->compressed_bytes_read();
    // Read last_of_file first: put() swaps the chunk.
    if (const bool last = chunk.last_of_file; !put(chunk) || last) return;
  } while (true);
}

bool ChunkStream::put(Chunk& chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !used_.empty() || stopped_; });
  if (stopped_) return false;
  ready_.push_back(std::move(chunk));
  chunk = std::move(used_.back());
  used_.pop_back();
  lock.unlock();
  changed_.notify_all();
  return true;
}

namespace {

/// Consumed bytes stay in the work file until there are this many, and more than unread ones.
constexpr std::uint64_t min_rewritten_bytes = std::uint64_t{64} << 20;

/// Smaller gaps at the window's start are not worth a move of the rest.
constexpr std::size_t min_dropped_bytes = 64 << 10;

/// Maximum that is reserved in advance for a batch.
constexpr std::uint64_t max_reserved_bytes = std::uint64_t{8} << 20;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

/// For skipped files: finds no records.
class NoRecords final : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 private:
  Step scan(std::string_view window, std::size_t, bool) override {
    return {Step::ran_out, window.size(), window.size()};
  }
};

}  // namespace

FileBytes::FileBytes(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage, std::string tmp_folder)
    : tmp_folder_(std::move(tmp_folder)),
      chunks_(files, max_window_bytes, damage, tmp_folder_),
      waiting_(tmp_folder_) {}

bool FileBytes::next(std::string& window) {
  if (waiting_bytes() == 0) {
    if (!read_chunk()) return false;
    window.append(chunk_.bytes);
    return true;
  }
  const std::uint64_t size = std::min<std::uint64_t>(waiting_bytes(), ChunkStream::chunk_bytes);
  const std::size_t before = window.size();
  window.resize(before + size);
  waiting_.read_at(waiting_begin_, {reinterpret_cast<std::uint8_t*>(window.data()) + before, size});
  drop_waiting(size);
  return true;
}

std::string FileBytes::peek(std::uint64_t distance, std::size_t size) {
  while (waiting_bytes() < distance + size && !segment_is_seen() && read_chunk())
    waiting_.append(as_bytes(chunk_.bytes));
  std::string bytes(std::min<std::uint64_t>(size, waiting_bytes() - std::min(waiting_bytes(), distance)), '\0');
  waiting_.read_at(waiting_begin_ + distance, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

void FileBytes::move_to(Spool& to, std::uint64_t size) {
  Bytes piece;
  while (size > 0) {
    piece.resize(std::min<std::uint64_t>(size, ChunkStream::chunk_bytes));
    waiting_.read_at(waiting_begin_, piece);
    to.append(piece);
    drop_waiting(piece.size());
    size -= piece.size();
  }
}

bool FileBytes::read_chunk() {
  if (!chunks_.next(chunk_)) return false;
  compressed_bytes_ += chunk_.compressed_bytes;
  return true;
}

void FileBytes::drop_waiting(std::uint64_t size) {
  waiting_begin_ += size;
  if (waiting_bytes() == 0) {
    waiting_.clear();
    waiting_begin_ = 0;
  } else if (waiting_begin_ > std::max(min_rewritten_bytes, waiting_bytes())) {
    Spool rest(tmp_folder_);
    SpoolPieces pieces(waiting_, waiting_begin_);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) rest.append(as_bytes(piece));
    waiting_ = std::move(rest);
    waiting_begin_ = 0;
  }
}

CorpusReader::CorpusReader(CorpusFiles files, CorpusOptions options, const Resources& resources)
    : options_(std::move(options)), tmp_folder_(resources.tmp_folder), files_(std::move(files)) {
  if (options_.format != "auto") given_format_ = &corpus_format_named(options_.format);
  if (given_format_ != nullptr && given_format_ != &jsonl_format && options_.field_names != FieldNames())
    throw InvalidArgument(std::string(option_name<"format">) + " " + options_.format +
                          " does not use field keys, which only JSON objects have; omit them");
  if (options_.batch_bytes == 0 || options_.batch_records == 0)
    throw InvalidArgument("a batch of 0 bytes or records can't be read; use at least 1");
  if (options_.max_document_bytes == 0)
    throw InvalidArgument(std::string(option_name<"max-document">) + " 0 allows no document; use at least 1");
  if (options_.max_document_bytes > CorpusOptions::largest_max_document)
    throw InvalidArgument(std::string(option_name<"max-document">) + " must be at most 4G");
  file_bytes_ = std::make_unique<FileBytes>(files_, ByteSource::max_window_bytes(resources),
                                            options_.skip_bad ? Damage::skip : Damage::refuse, tmp_folder_);
}

CorpusReader::~CorpusReader() = default;

std::string CorpusReader::file_name(std::uint32_t file) const { return source_name(files_.file(file).path); }

bool CorpusReader::next(RecordBatch& batch) {
  batch.bytes.clear();
  batch.spools.clear();
  batch.records.clear();
  batch.bad.clear();
  batch.compressed_bytes = 0;
  // Reserved at once: growing would hold the bytes twice. Untouched memory costs nothing.
  batch.bytes.reserve(std::min(options_.batch_bytes, max_reserved_bytes) + RecordText::max_in_memory +
                      4 * ChunkStream::chunk_bytes);
  batch.bytes.append(carry_);
  window_bytes_ = &batch.bytes;
  window_begin_ = 0;

  // Counted in bytes of the files, so that batches don't depend on how these were read.
  std::uint64_t covered_bytes = 0;
  std::uint64_t batch_from = window_offset_;
  while (covered_bytes + (done_offset() - batch_from) < options_.batch_bytes &&
         batch.records.size() + batch.bad.size() < options_.batch_records) {
    if (!finder_) {
      covered_bytes += window_offset_ - batch_from;
      const bool goes_on = file_bytes_->damage().has_value();
      if (!read_more(batch)) return !batch.records.empty() || !batch.bad.empty();
      if (!goes_on) window_offset_ = files_.first_offset();
      batch_from = segment_offset_ = window_offset_;
      begin_segment(batch, goes_on);
      continue;
    }
    take(finder_->next(window(batch), window_offset_, file_bytes_->segment_is_read(), *this), batch);
  }
  carry_.assign(batch.bytes, window_begin_);
  batch.bytes.resize(window_begin_);
  return true;
}

void CorpusReader::take(const RecordFinder::Found& found, RecordBatch& batch) {
  switch (found.kind) {
    case RecordFinder::Found::record:
      take_record(found, batch);
      break;
    case RecordFinder::Found::part:
      if (!aside_) aside_offset_ = window_offset_ + found.begin;
      set_aside(found.begin, found.size, batch);
      break;
    case RecordFinder::Found::bad:
      batch.bad.push_back({file_bytes_->file(), found.offset, found.reason});
      aside_.reset();
      advance(found.consumed);
      break;
    case RecordFinder::Found::too_large:
      aside_.reset();
      [[fallthrough]];
    case RecordFinder::Found::need_more:
      if (found.consumed >= min_dropped_bytes) {
        batch.bytes.erase(window_begin_, found.consumed);
        window_offset_ += found.consumed;
      } else {
        advance(found.consumed);
      }
      read_more(batch);
      break;
    case RecordFinder::Found::end:
      advance(found.consumed);
      finder_.reset();
      note_damage(batch);
      break;
  }
}

void CorpusReader::take_record(RecordFinder::Found found, RecordBatch& batch) {
  const bool damaged = is_damaged(window_offset_ + found.begin + found.size) && !cut_to_sound(found, batch);
  RecordSpan record{window_begin_ + found.begin,
                    found.size,
                    RecordSpan::no_spool,
                    file_bytes_->file(),
                    window_offset_ + found.begin,
                    format_,
                    charset_};
  record.is_cut = found.is_cut;
  if (!aside_ && found.size <= options_.max_in_memory) {
    if (!damaged) batch.records.push_back(record);
    advance(found.consumed);
    return;
  }
  if (aside_) record.file_offset = aside_offset_;
  set_aside(found.begin, found.size, batch);
  advance(found.consumed - std::min<std::uint64_t>(found.consumed, found.begin + found.size));
  if (damaged) {
    aside_.reset();
    return;
  }
  record.begin = 0;
  record.size = aside_->size();
  record.spool = batch.spools.size();
  batch.spools.push_back(*std::exchange(aside_, std::nullopt));
  batch.records.push_back(record);
}

void CorpusReader::set_aside(std::size_t begin, std::uint64_t size, RecordBatch& batch) {
  if (!aside_) aside_.emplace(tmp_folder_);
  const std::string_view here = window(batch).substr(begin, size);
  aside_->append(as_bytes(here));
  file_bytes_->move_to(*aside_, size - here.size());
  batch.bytes.erase(window_begin_, begin + here.size());
  window_offset_ += begin + size;
}

std::string CorpusReader::peek(std::uint64_t offset, std::size_t size) {
  const std::string_view window = std::string_view(*window_bytes_).substr(window_begin_);
  const std::uint64_t at = offset - window_offset_;
  std::string bytes(window.substr(std::min<std::uint64_t>(at, window.size()), size));
  const std::uint64_t distance = at - std::min<std::uint64_t>(at, window.size());
  if (bytes.size() < size) bytes += file_bytes_->peek(distance, size - bytes.size());
  return bytes;
}

bool CorpusReader::read_more(RecordBatch& batch) {
  const bool more = file_bytes_->next(batch.bytes);
  batch.compressed_bytes += file_bytes_->take_compressed_bytes();
  return more;
}

void CorpusReader::begin_segment(RecordBatch& batch, bool goes_on) {
  const std::string_view bytes = window(batch);
  const bool is_whole = file_bytes_->segment_is_read();
  if (!goes_on) has_format_ = false;
  if (is_whole && is_blank(bytes)) {
    const bool is_file = !goes_on && !file_bytes_->damage();
    if (is_file && empty_files_.size() < max_named) empty_files_.push_back(file_name(file_bytes_->file()));
    note_damage(batch);
    advance(bytes.size());
    return;
  }
  if (!has_format_) {
    const std::optional<std::string> head = files_.head_of_range(detection_bytes);
    const std::string_view begin = head ? std::string_view(*head) : bytes.substr(0, detection_bytes);
    format_ = format_of_file(begin);
    charset_ = *charsets_.insert(html_charset({}, begin)).first;
    // The few bytes before damage may not reveal a format.
    const bool is_cut = is_whole && file_bytes_->damage() && format_ == nullptr;
    if (!is_cut) begin_records();
  }
  finder_ = format_ ? format_->make_finder({options_.max_document_bytes, options_.max_in_memory})
                    : std::make_unique<NoRecords>(RecordLimits());
}

void CorpusReader::begin_records() {
  has_format_ = true;
  if (format_) {
    const std::string name(format_->name);
    if (std::find(formats_.begin(), formats_.end(), name) == formats_.end()) formats_.push_back(name);
  } else if (num_skipped_files_++ < max_named) {
    skipped_files_.push_back({file_name(file_bytes_->file()), why_skipped_});
  }
}

void CorpusReader::note_damage(RecordBatch& batch) const {
  if (const std::optional<GzipDamage>& damage = file_bytes_->damage())
    batch.bad.push_back({file_bytes_->file(), damage->stored_offset, damage->reason, true});
}

bool CorpusReader::cut_to_sound(RecordFinder::Found& found, const RecordBatch& batch) const {
  const std::uint64_t begin = window_offset_ + found.begin;
  const std::uint64_t sound_end = segment_offset_ + file_bytes_->damage()->sound_bytes;
  if (sound_end <= begin || found.consumed > window(batch).size()) return false;
  found.size = sound_end - begin;
  return true;
}

bool CorpusReader::is_damaged(std::uint64_t end) {
  const std::optional<GzipDamage>& damage = file_bytes_->damage();
  if (!damage || end <= segment_offset_ + damage->sound_bytes) return false;
  constexpr std::size_t max_gap = 4096;
  const std::string behind = peek(end, max_gap + 1);
  return behind.size() <= max_gap && is_blank(behind);
}

const CorpusFormat* CorpusReader::format_of_file(std::string_view head) {
  why_skipped_ = given_format_ ? unreadable_form(as_bytes(head)) : why_no_corpus(head);
  if (why_skipped_.empty()) return given_format_ ? given_format_ : find_corpus_format(head);
  const std::uint32_t file = file_bytes_->file();
  if (options_.skip_bad || files_.file(file).found_in_folder) return nullptr;
  throw InvalidArgument("{}: is {}", file_name(file), why_skipped_);
}

std::vector<FileRange> find_ranges(const std::string& path, std::size_t count, const CorpusOptions& options,
                                   const Resources& resources) {
  return run_stage(resources, [&] {
    const std::uint64_t bytes = File::open_regular(path).size();
    CorpusFiles files = find_corpus_files({path}, {}, resources);
    files.choose_range({0, bytes});
    CorpusReader reader(std::move(files), options, resources);
    resources.progress->start("find records", bytes, "bytes");
    std::vector<FileRange> ranges;
    RecordSpan last;
    std::uint64_t next = 0;  // the next range begins after this many shares of `count`
    RecordBatch batch;
    while (reader.next(batch)) {
      for (const RecordSpan& record : batch.records) {
        last = record;
        const auto share =
            static_cast<std::uint64_t>(static_cast<unsigned __int128>(record.file_offset) * count / bytes);
        if (share < next) continue;
        next = share + 1;
        if (!ranges.empty()) ranges.back().to = record.file_offset;
        ranges.push_back({ranges.empty() ? 0 : record.file_offset, bytes});
      }
      resources.progress->add(batch.compressed_bytes);
    }
    if (ranges.empty())
      throw InvalidArgument(path + ": contains no records; name another file, or specify its " + option_name<"format">);
    // Excludes the closing bracket of an array of JSON objects, since the opening one is in the first range.
    if (last.format == &jsonl_format) ranges.back().to = last.file_offset + last.size;
    resources.progress->finish();
    return ranges;
  });
}

}  // namespace quern
