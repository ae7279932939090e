#include "quern/corpus/corpus_files.hpp"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

/// Identifies a folder independently of its path.
using FolderIdentity = std::pair<dev_t, ino_t>;

struct stat status_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno("can't find", path);
  return status;
}

/// Throws for an unreadable entry of a folder, by errno.
[[noreturn]] void fail_in_folder(const std::string& path) {
  const int code = errno;
  struct stat link;
  const bool leads_nowhere = code == ENOENT && ::lstat(path.c_str(), &link) == 0;
  throw IoError("can't read " + path + ": " +
                (leads_nowhere ? "it is a link to something that does not exist" : std::strerror(code)) +
                "; fix or remove it, or exclude it with " + option_name<"exclude">);
}

/// Calls visit(name) for the visible entries of a folder.
template <class Visit>
void for_each_visible(const std::string& folder, bool is_named, Visit&& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory && is_named) throw_errno("can't read the folder", folder);
  if (!directory) fail_in_folder(folder);
  while (const dirent* entry = ::readdir(directory.get()))
    if (entry->d_name[0] != '.') visit(std::string(entry->d_name));
}

/// Whether a pattern matches `below`, a path relative to the named folder, or its last component.
bool matches(const std::vector<std::string>& patterns, const std::string& below) {
  const std::string name = below.substr(below.rfind('/') + 1);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), below.c_str(), 0) == 0 || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

class FileFinder {
 public:
  using Visit = std::function<void(const CorpusFile&)>;
  using PassOver = std::function<void(const std::string& path)>;

  FileFinder(const FileChoice& choice, const Visit& visit, const PassOver& pass_over)
      : choice_(choice), visit_(visit), pass_over_(pass_over) {}

  void add(const std::string& path) {
    if (path == "-") {
      visit_({path, 0, false});
      return;
    }
    const struct stat status = status_of(path);
    if (!S_ISDIR(status.st_mode)) {
      add_file(path, status, false);
      return;
    }
    found_ = false;
    special_.clear();
    add_folder(path, "", status);
    if (found_) return;
    if (!special_.empty())
      throw InvalidArgument(path + ": the folder has no files to read, only pipes, sockets or devices, such as " +
                            special_ + "; name these directly, or name another folder");
    if (!choice_.include.empty() || !choice_.exclude.empty())
      throw InvalidArgument(path + ": " + option_name<"include"> + " and " + option_name<"exclude"> +
                            " exclude every file in the folder; check their patterns");
    throw InvalidArgument(path + ": the folder has no visible files; name a folder or file with documents");
  }

 private:
  void add_file(const std::string& path, const struct stat& status, bool found_in_folder) {
    if (::access(path.c_str(), R_OK) != 0 && !found_in_folder) throw_errno("can't read", path);
    if (::access(path.c_str(), R_OK) != 0) fail_in_folder(path);
    const std::uint64_t size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    found_ = true;
    visit_({path, size, found_in_folder});
  }

  /// `below` is the folder's path relative to the named one, with a / at its end.
  void add_folder(const std::string& folder, const std::string& below, const struct stat& status) {
    const FolderIdentity identity(status.st_dev, status.st_ino);
    if (std::find(open_folders_.begin(), open_folders_.end(), identity) != open_folders_.end()) return;
    open_folders_.push_back(identity);
    const std::string prefix = folder.back() == '/' ? folder : folder + "/";
    std::vector<std::string> folders;  // visited after closing this one, to limit open folders
    for_each_visible(folder, below.empty(), [&](const std::string& name) {
      if (matches(choice_.exclude, below + name)) return;
      const std::string path = prefix + name;
      const bool is_chosen = choice_.include.empty() || matches(choice_.include, below + name);
      struct stat entry;
      if (::stat(path.c_str(), &entry) != 0) {
        if (is_chosen) fail_in_folder(path);
      } else if (S_ISDIR(entry.st_mode)) {
        folders.push_back(name);
      } else if (is_chosen && S_ISREG(entry.st_mode)) {
        add_file(path, entry, true);
      } else if (is_chosen) {
        special_ = path;
        if (pass_over_) pass_over_(path);
      }
    });
    for (const std::string& name : folders) add_folder(prefix + name, below + name + "/", status_of(prefix + name));
    open_folders_.pop_back();
  }

  const FileChoice& choice_;
  const Visit& visit_;
  const PassOver& pass_over_;
  bool found_ = false;                        ///< the current argument has a file
  std::string special_;                       ///< the last special file of the current argument
  std::vector<FolderIdentity> open_folders_;  ///< from the argument down to the current folder
};

/// Sorts by path components: replaces slashes by the zero byte, which no path contains.
std::string sort_key(std::uint32_t argument, std::string path) {
  std::replace(path.begin(), path.end(), '/', '\0');
  return std::string(SortKey(argument).view()) + path;
}

std::string path_of_key(std::string_view key) {
  std::string path(key.substr(sizeof(std::uint32_t)));
  std::replace(path.begin(), path.end(), '\0', '/');
  return path;
}

void refuse_no_corpus(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw InvalidArgument("no corpus given; name its files or folders, or - for standard input");
}

/// The files of all names. for_each_name(visit) calls visit(name) for each name, in corpus order.
template <class ForEachName>
CorpusFiles find_files(ForEachName&& for_each_name, const FileChoice& choice, const Resources& resources) {
  struct Payload {
    std::uint64_t size_bytes, found_in_folder;
  };
  ExternalSort sort(resources.tmp_folder, resources.memory_bytes / 16);
  std::uint32_t argument = 0;
  const FileFinder::Visit add = [&](const CorpusFile& file) {
    const Payload payload{file.size_bytes, file.found_in_folder};
    sort.add(sort_key(argument, file.path), {reinterpret_cast<const std::uint8_t*>(&payload), sizeof payload});
  };
  CorpusFiles files(resources.tmp_folder);
  const FileFinder::PassOver pass_over = [&](const std::string& path) { files.pass_over(path); };
  FileFinder finder(choice, add, pass_over);
  for_each_name([&](const std::string& name) {
    finder.add(name);
    ++argument;
  });
  sort.merge([&](std::string_view key, ByteView bytes) {
    Payload payload{};
    std::memcpy(&payload, bytes.data(), sizeof payload);
    files.add({path_of_key(key), payload.size_bytes, payload.found_in_folder != 0});
  });
  return files;
}

void check_path(std::string_view path, bool is_cut) {
  if (is_cut)
    throw InvalidArgument("the line is too long for a path; a file list is a text file with one path per line");
  if (path.find('\0') != std::string_view::npos)
    throw InvalidArgument("the line contains a zero byte; a file list is a text file with one path per line");
  if (path == "-") throw InvalidArgument("a list names files, not standard input; write ./- for a file called -");
  if (path.find("://") != std::string_view::npos)
    throw InvalidArgument("'" + std::string(path) + "' is a URL; fetch the file and list its path");
}

}  // namespace

void for_each_corpus_file(const std::vector<std::string>& arguments, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit,
                          const std::function<void(const std::string& path)>& pass_over) {
  refuse_no_corpus(arguments);
  FileFinder finder(choice, visit, pass_over);
  for (const std::string& argument : arguments) finder.add(argument);
}

void for_each_corpus_file(const FileList& list, const FileChoice& choice,
                          const std::function<void(const CorpusFile&)>& visit) {
  const FileFinder::PassOver pass_over;
  FileFinder finder(choice, visit, pass_over);
  list.for_each([&](const std::string& path) { finder.add(path); });
}

void CorpusFiles::add(const CorpusFile& file) {
  if (size() == std::numeric_limits<std::uint32_t>::max()) throw InvalidArgument("more than 2^32 - 1 corpus files");
  rows_.add({paths_.size(), file.path.size(), file.size_bytes, file.found_in_folder});
  paths_.append(as_bytes(file.path));
  total_bytes_ += file.size_bytes;
}

void CorpusFiles::add_source(std::shared_ptr<ByteSource> source) {
  source_ = std::move(source);
  add({source_->name(), 0, false});
}

void CorpusFiles::choose_range(const FileRange& range) {
  if (size() != 1 || source_) throw InvalidArgument("a range applies to exactly one file; name only that file");
  ByteSource::open_range(file(0).path, range);
  range_ = range;
  total_bytes_ = range.to - range.from;
}

std::optional<std::string> CorpusFiles::head_of_range(std::size_t size) const {
  if (!range_) return std::nullopt;
  std::string head(std::min<std::uint64_t>(size, range_->to), '\0');
  const auto source = ByteSource::open_range(file(0).path, {0, head.size()});
  head.resize(read_fully(*source, {reinterpret_cast<std::uint8_t*>(head.data()), head.size()}));
  return head;
}

std::shared_ptr<ByteSource> CorpusFiles::open(std::uint32_t number, const ReadInterrupt& interrupt,
                                              std::uint64_t max_window_bytes) const {
  if (source_ && number == 0) return source_;
  if (range_) return ByteSource::open_range(file(number).path, *range_, &interrupt);
  return decompressing(RawSource::open(file(number).path, &interrupt), max_window_bytes);
}

std::shared_ptr<DamageSkippingSource> CorpusFiles::open_skipping_damage(std::uint32_t number,
                                                                        const ReadInterrupt& interrupt,
                                                                        std::uint64_t max_window_bytes) const {
  if ((source_ && number == 0) || range_) return nullptr;
  return DamageSkippingSource::open(file(number).path, &interrupt, max_window_bytes);
}

void CorpusFiles::pass_over(const std::string& path) {
  if (num_passed_over_++ < max_named) passed_over_.push_back(path);
}

CorpusFile CorpusFiles::file(std::uint32_t number) const {
  Row row{};
  rows_.read(number, std::span(&row, 1));
  CorpusFile file{std::string(row.path_bytes, '\0'), row.size_bytes, row.found_in_folder != 0};
  paths_.read_at(row.path_begin, {reinterpret_cast<std::uint8_t*>(file.path.data()), file.path.size()});
  return file;
}

CorpusFiles find_corpus_files(const std::vector<std::string>& arguments, const FileChoice& choice,
                              const Resources& resources) {
  refuse_no_corpus(arguments);
  const auto for_each_name = [&](const auto& visit) {
    for (const std::string& argument : arguments) visit(argument);
  };
  return find_files(for_each_name, choice, resources);
}

CorpusFiles find_corpus_files(const FileList& list, const FileChoice& choice, const Resources& resources) {
  return find_files([&](const auto& visit) { list.for_each(visit); }, choice, resources);
}

FileList::FileList(const std::string& path, std::string root, const Resources& resources)
    : name_(source_name(path)),
      root_(std::move(root)),
      text_(path, ReadLimits(max_list_bytes, 16 * max_line_bytes), resources) {
  if (!root_.empty() && root_.back() != '/') root_ += '/';
}

void FileList::for_each(const std::function<void(const std::string& path)>& visit) const {
  const auto release = [this](std::string_view part) { text_.release(as_bytes(part)); };
  LineReader lines(without_byte_order_mark(as_text(text_.bytes())), release, max_line_bytes);
  bool has_path = false;
  for (std::string_view line; lines.next(line);) {
    if (line.front() == '#') continue;
    has_path = true;
    const std::string place = name_ + ", line " + std::to_string(lines.number()) + ": ";
    try {
      check_path(line, lines.is_cut());
      visit((line.front() == '/' ? "" : root_) + std::string(line));
    } catch (const InvalidArgument& wrong) {
      throw InvalidArgument(place + wrong.what());
    } catch (const IoError& failed) {
      throw IoError(place + failed.what());
    }
  }
  if (!has_path) throw InvalidArgument(name_ + ": the list names no file; write a path on each line");
}

namespace {

/// A file in another format than gzip.
class OtherSource final : public DamageSkippingSource {
 public:
  explicit OtherSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  std::size_t read(std::span<std::uint8_t> to) override { return source_->read(to); }
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }
  std::optional<GzipDamage> take_damage() override { return std::nullopt; }

 private:
  std::unique_ptr<ByteSource> source_;
};

/// Whether a gzip member may begin here: the magic number, deflate, and no reserved flag.
bool may_begin_member(ByteView bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 && bytes[3] < 0x20;
}

class GzipMembers final : public DamageSkippingSource {
 public:
  explicit GzipMembers(std::unique_ptr<RawSource> stored) : stored_(std::move(stored)) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
    stored_->keep_behind(max_step_back);
  }
  ~GzipMembers() override { inflateEnd(&stream_); }
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  std::size_t read(std::span<std::uint8_t> to) override {
    while (content_.empty() && !damage_ && (in_member_ || begin_member())) inflate_some();
    const std::size_t size = std::min(to.size(), content_.size());
    std::copy_n(content_.begin(), size, to.begin());
    content_ = content_.subspan(size);
    return size;
  }
  const std::string& name() const override { return stored_->name(); }
  std::uint64_t compressed_bytes_read() const override { return stored_->offset(); }
  std::optional<GzipDamage> take_damage() override { return std::exchange(damage_, std::nullopt); }

 private:
  /// False at the end of the file, and at anything but a member.
  bool begin_member() {
    ByteView input = stored_->peek();
    while (!input.empty() && input[0] == 0) {  // padding
      stored_->skip(static_cast<std::size_t>(
          std::find_if(input.begin(), input.end(), [](std::uint8_t byte) { return byte != 0; }) - input.begin()));
      input = stored_->peek();
    }
    if (input.empty()) return false;
    member_begin_ = stored_->offset();
    sound_bytes_ = content_bytes_;
    if (input.size() < 2 || input[0] != 0x1f || input[1] != 0x8b) {
      skip_damage("a gzip member should begin here");
      return false;
    }
    inflateReset(&stream_);
    return in_member_ = true;
  }

  /// Always inflates in steps of the same size: they determine how far zlib reads before it finds damage, and the
  /// result must not depend on the caller's buffer.
  void inflate_some() {
    const ByteView input = stored_->peek();
    if (input.empty()) return skip_damage("a truncated gzip member");
    constexpr std::size_t max_bytes = std::numeric_limits<uInt>::max();
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(std::min(input.size(), max_bytes));
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const uInt offered_in = stream_.avail_in;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    stored_->skip(offered_in - stream_.avail_in);
    content_ = ByteView(buffer_).first(buffer_.size() - stream_.avail_out);
    content_bytes_ += content_.size();
    if (status == Z_STREAM_END)
      in_member_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      skip_damage("a damaged gzip member");
  }

  /// Skips to the next possible member. Inflating damage may have passed it, so the search begins right after the
  /// damaged member's first byte, as far as bytes are kept, but never searches the same bytes twice.
  void skip_damage(const char* reason) {
    damage_ = {member_begin_, sound_bytes_, reason};
    in_member_ = false;
    content_bytes_ = 0;
    const std::uint64_t here = stored_->offset();
    const std::uint64_t kept_from = here - std::min<std::uint64_t>(here, max_step_back);
    const std::uint64_t from = std::max({member_begin_ + 1, kept_from, std::min(here, searched_to_)});
    searched_to_ = std::max(searched_to_, here);
    if (from < here)
      stored_->go_back(static_cast<std::size_t>(here - from));
    else if (from > here)
      stored_->skip(1);  // the first byte of the foreign data
    find_member();
  }

  void find_member() {
    for (ByteView bytes = stored_->peek(); !bytes.empty(); bytes = stored_->peek()) {
      const std::uint8_t* const end = bytes.data() + bytes.size();
      const std::uint8_t* at = bytes.data();
      while ((at = static_cast<const std::uint8_t*>(std::memchr(at, 0x1f, static_cast<std::size_t>(end - at))))) {
        const ByteView rest(at, end);
        if (may_begin_member(rest)) {
          stored_->skip(static_cast<std::size_t>(at - bytes.data()));
          return;
        }
        if (rest.size() < 4) break;  // the rest may follow
        ++at;
      }
      // Near the end of the file, too few bytes are left for a member.
      const bool is_undecided = at != nullptr && at != bytes.data();
      stored_->skip(is_undecided ? static_cast<std::size_t>(at - bytes.data()) : bytes.size());
    }
  }

  static constexpr std::size_t max_step_back = 128 << 10;

  std::unique_ptr<RawSource> stored_;
  z_stream stream_{};
  Bytes buffer_ = Bytes(64 << 10);
  ByteView content_;  ///< the unread part of the buffer
  bool in_member_ = false;
  std::uint64_t member_begin_ = 0;
  std::uint64_t content_bytes_ = 0;  ///< since the last damage
  std::uint64_t sound_bytes_ = 0;    ///< of these, the bytes before the current member
  std::uint64_t searched_to_ = 0;
  std::optional<GzipDamage> damage_;
};

std::unique_ptr<DamageSkippingSource> skipping_damage(std::unique_ptr<RawSource> stored,
                                                      std::uint64_t max_window_bytes) {
  const ByteView head = stored->peek();
  if (head.size() >= 2 && head[0] == 0x1f && head[1] == 0x8b) return std::make_unique<GzipMembers>(std::move(stored));
  return std::make_unique<OtherSource>(decompressing(std::move(stored), max_window_bytes));
}

}  // namespace

std::unique_ptr<DamageSkippingSource> DamageSkippingSource::open(const std::string& path,
                                                                 const ReadInterrupt* interrupt,
                                                                 std::uint64_t max_window_bytes) {
  return skipping_damage(RawSource::open(path, interrupt), max_window_bytes);
}

std::unique_ptr<DamageSkippingSource> DamageSkippingSource::from_memory(std::string name, std::string bytes) {
  return skipping_damage(RawSource::from_memory(std::move(name), std::move(bytes)), default_max_window_bytes);
}

}  // namespace quern
