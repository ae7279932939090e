#include "quern/io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>

#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

/// For file systems without O_TMPFILE: creates a named file and unlinks it at once.
int open_unlinked(const std::string& folder) {
  std::string path = folder + "/.quern-work-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(path.c_str());
  return descriptor;
}

constexpr std::size_t step_bytes = 256 << 10;
constexpr std::uint64_t max_in_memory = std::uint64_t{4} << 20;

void (*check_of_opened)(const File& file) = nullptr;

}  // namespace

void File::check_opened(void (*check)(const File& file)) { check_of_opened = check; }

File File::open(const std::string& path, int flags) {
  std::string name = path;  // allocated first: an exception would leak the descriptor
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) throw_errno("can't open", path);
  File file(descriptor, std::move(name));
  if (S_ISDIR(file.mode())) throw InvalidArgument(path + ": is a folder, not a file");
  if (check_of_opened != nullptr) check_of_opened(file);
  return file;
}

File File::open_for_reading(const std::string& path) { return open(path, 0); }

File File::open_without_waiting(const std::string& path) {
  File file = open(path, O_NONBLOCK);
  if (::fcntl(file.descriptor_, F_SETFL, 0) != 0) throw_errno("can't open", path);
  return file;
}

File File::open_regular(const std::string& path) {
  File file = open(path, O_NONBLOCK);
  if (!S_ISREG(file.mode())) throw InvalidArgument(path + ": is a pipe or a device; a regular file is needed here");
  return file;
}

unsigned File::mode() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) throw_errno("can't get the status of", name_);
  return status.st_mode;
}

File File::create(const std::string& path) {
  std::string name = path;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_errno("can't create", path);
  return File(descriptor, std::move(name));
}

File File::anonymous(const std::string& folder) {
  std::string name = "temporary file in " + folder;
  int descriptor = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) descriptor = open_unlinked(folder);
  if (descriptor < 0) throw_errno("can't create a temporary file in", folder);
  return File(descriptor, std::move(name));
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) throw_errno("can't get the status of", name_);
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read_some(std::uint64_t offset, std::span<std::uint8_t> to) const {
  for (;;) {
    const ssize_t got = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw_errno("can't read", name_);
  }
}

void File::read_at(std::uint64_t offset, std::span<std::uint8_t> to) const {
  while (!to.empty()) {
    const std::size_t got = read_some(offset, to);
    if (got == 0) throw CorruptFile(name_ + ": ends too early, at byte " + std::to_string(offset));
    offset += got;
    to = to.subspan(got);
  }
}

void File::write_at(std::uint64_t offset, ByteView from) {
  while (!from.empty()) {
    const ssize_t put = ::pwrite(descriptor_, from.data(), from.size(), static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw_errno("can't write", name_);
    }
    offset += static_cast<std::uint64_t>(put);
    from = from.subspan(static_cast<std::size_t>(put));
  }
}

void File::sync() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) throw_errno("can't sync", name_);
}

File File::duplicate() const {
  std::string name = name_;
  const int descriptor = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw_errno("can't reopen", name_);
  return File(descriptor, std::move(name));
}

FileAppender::FileAppender(File& file, std::uint64_t offset, std::size_t buffer_bytes)
    : file_(file), offset_(offset), buffer_bytes_(buffer_bytes) {}

void FileAppender::write(ByteView bytes) {
  if (buffer_.size() + bytes.size() > buffer_bytes_) flush();
  if (bytes.size() >= buffer_bytes_) {
    file_.write_at(offset_, bytes);
    offset_ += bytes.size();
    return;
  }
  if (buffer_.capacity() == 0) buffer_.reserve(buffer_bytes_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FileAppender::flush() {
  file_.write_at(offset_, buffer_);
  offset_ += buffer_.size();
  buffer_.clear();
}

void copy_file(const File& from, File& to) {
  constexpr std::uint64_t at_once = 1 << 20;
  Bytes bytes;
  const std::uint64_t size = from.size();
  for (std::uint64_t at = 0; at < size; at += bytes.size()) {
    bytes.resize(std::min(at_once, size - at));
    from.read_at(at, bytes);
    to.write_at(at, bytes);
  }
}

std::uint64_t free_space_bytes(const std::string& folder) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0) throw_errno("can't get the status of", folder);
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

void check_free_space(const std::string& folder, std::uint64_t needed_bytes, const std::string& for_what) {
  const std::uint64_t free_bytes = free_space_bytes(folder);
  if (free_bytes < needed_bytes) {
    throw IoError(folder + ": " + for_what + " may need " + size_text(needed_bytes) + ", but only " +
                  size_text(free_bytes) + " is free; free some space, or choose another folder with " +
                  option_name<"tmp"> + " or " + option_name<"output">);
  }
}

WholeFile::WholeFile(const std::string& path, ReadLimits limits, const Resources& resources) {
  const std::unique_ptr<ByteSource> source = ByteSource::open(path, resources);
  const std::uint64_t max_bytes = std::min(max_in_memory, resources.memory_bytes / 16);
  resources.progress->start("read " + source->name(), 0, "bytes");
  Bytes step(step_bytes);
  std::optional<File> file;
  std::uint64_t size = 0;
  for (std::size_t got = source->read(step); got > 0; got = source->read(step)) {
    const ByteView read = ByteView(step).first(got);
    limits.add(read, source->name());
    resources.progress->add(got);
    if (!file && size + got > max_bytes) {
      file = File::anonymous(resources.tmp_folder);
      file->write_at(0, memory_);
      memory_ = {};
    }
    if (file)
      file->write_at(size, read);
    else
      memory_.insert(memory_.end(), read.begin(), read.end());
    size += got;
  }
  is_mapped_ = file.has_value();
  if (file) mapped_ = MappedFile(*file);
  resources.progress->finish();
}

namespace {

/// The ranges of all MappedFiles: their sizes by address. A range is unmapped under the lock.
struct MappedRanges {
  std::mutex mutex;
  std::map<const std::uint8_t*, std::size_t> sizes;
};
MappedRanges& mapped_ranges() {
  static auto* const ranges = new MappedRanges;  // files may be unmapped while the process exits
  return *ranges;
}

}  // namespace

MappedFile::MappedFile(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  MappedRanges& ranges = mapped_ranges();
  const std::lock_guard lock(ranges.mutex);
  void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (at == MAP_FAILED) throw_errno("can't map", file.name());
  data_ = static_cast<const std::uint8_t*>(at);
  ranges.sizes[data_] = size_;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  MappedRanges& ranges = mapped_ranges();
  const std::lock_guard lock(ranges.mutex);
  ranges.sizes.erase(data_);
  ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void trim_mapped_files(std::uint64_t budget_bytes) {
  if (resident_file_bytes() <= budget_bytes) return;
  MappedRanges& ranges = mapped_ranges();
  const std::lock_guard lock(ranges.mutex);
  for (const auto& [data, size] : ranges.sizes) release_pages({data, size});
}

void release_pages(ByteView mapped) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data()), end = begin + mapped.size();
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  // The system may refuse, which is not an error.
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::uint64_t resident_file_bytes() {
  // The first three numbers: total, resident and file-backed resident pages.
  static const int descriptor = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128];
  const ssize_t size = descriptor < 0 ? -1 : ::pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  unsigned long long file_pages = 0;
  if (std::sscanf(text, "%*u %*u %llu", &file_pages) != 1) return 0;
  return file_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace quern
