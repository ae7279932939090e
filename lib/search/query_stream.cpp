#include "quern/search/query_stream.hpp"

#include <unistd.h>

#include <cerrno>

#include "quern/io/checksum.hpp"

namespace quern {
namespace {

std::optional<File> open_unless_standard_input(const std::string& path) {
  if (path == "-") return std::nullopt;
  return File::open_for_reading(path);
}

}  // namespace

QueryStream::QueryStream(const std::string& path, const std::string& name, QueryLayout layout, std::size_t max_queries,
                         std::chrono::milliseconds wait, std::uint64_t memory_bytes)
    : file_(open_unless_standard_input(path)),
      name_(name),
      parser_(std::move(layout), name_),
      collector_(max_queries, wait, Collector::Clock::now, memory_bytes / 2) {
  thread_ = std::thread([this] { read_all(); });
}

QueryStream::~QueryStream() {
  stop();
  thread_.join();
}

void QueryStream::stop() noexcept {
  collector_.close();
  interrupt_.stop();
}

std::vector<Query> QueryStream::next() {
  std::vector<Query> batch = collector_.take();
  if (batch.empty() && thrown_) std::rethrow_exception(thrown_);
  return batch;
}

void QueryStream::read_all() {
  try {
    std::string rest;
    std::vector<char> bytes(std::size_t{1} << 16);
    bool is_begin = true;
    for (std::size_t size = read_some(bytes); size > 0; size = read_some(bytes)) {
      if (std::exchange(is_begin, false)) refuse_compressed({bytes.data(), size});
      std::size_t begin = 0, end = rest.size();  // before which there's no LF
      rest.append(bytes.data(), size);
      for (end = rest.find('\n', end); end != std::string::npos; end = rest.find('\n', begin)) {
        take_line(std::string_view(rest).substr(begin, end - begin));
        begin = end + 1;
      }
      rest.erase(0, begin);
      if (rest.size() > parser_.max_line_bytes()) take_line(rest);  // which refuses it
    }
    if (!rest.empty()) take_line(rest);
  } catch (...) {
    thrown_ = std::current_exception();
  }
  collector_.finish();
}

void QueryStream::refuse_compressed(std::string_view head) const {
  if (is_compressed(as_bytes(head)))
    throw InvalidArgument(
        "{}: is compressed, which is not supported for queries that arrive over time; decompress it first, or omit {}",
        name_, option_name<"batch-wait">);
}

void QueryStream::take_line(std::string_view line) {
  std::optional<Query> query = parser_.next(line);
  if (!query) return;
  const std::size_t bytes = sizeof(Query) + query->id.size() + query->text.size();
  collector_.push(std::move(*query), bytes);
}

std::size_t QueryStream::read_some(std::span<char> to) const {
  const int descriptor = file_ ? file_->descriptor() : STDIN_FILENO;
  while (interrupt_.wait(descriptor, name_)) {
    const ssize_t size = ::read(descriptor, to.data(), to.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR && errno != EAGAIN) throw_errno("can't read", name_);
  }
  return 0;
}

bool RepeatedIds::is_repeated(std::string_view id) {
  if (slots_.empty()) slots_.resize(2 * max_ids);
  const std::uint64_t hash = std::max<std::uint64_t>(1, xxh3(as_bytes(id)));
  if (std::exchange(last_, hash) == hash) return true;
  std::size_t slot = hash % slots_.size();
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) % slots_.size();
  if (slots_[slot] == hash) return true;
  if (num_ids_ < max_ids) {
    slots_[slot] = hash;
    ++num_ids_;
  }
  return false;
}

}  // namespace quern
