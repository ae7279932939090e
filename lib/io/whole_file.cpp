#include "quern/io/whole_file.hpp"

#include <algorithm>
#include <optional>

#include "quern/core/own_errors.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

constexpr std::size_t step_bytes = 256 << 10;
constexpr std::uint64_t max_in_memory = std::uint64_t{4} << 20;

}  // namespace

WholeFile::WholeFile(const std::string& path, const Resources& resources) {
  with_own_errors([&] {
    const std::unique_ptr<ByteSource> source = ByteSource::open(path, resources);
    const std::uint64_t max_bytes = std::min(max_in_memory, resources.memory_bytes / 16);
    resources.progress->start("read " + source->name(), 0, "bytes");
    Bytes step(step_bytes);
    std::optional<File> file;
    std::uint64_t size = 0;
    for (std::size_t got = source->read(step); got > 0; got = source->read(step)) {
      const ByteView read = ByteView(step).first(got);
      resources.progress->add(got);
      if (!file && size + got > max_bytes) {
        file = File::anonymous(resources.tmp_folder);
        file->write_at(0, memory_);
        memory_ = {};
      }
      if (file) {
        file->write_at(size, read);
      } else {
        memory_.insert(memory_.end(), read.begin(), read.end());
      }
      size += got;
    }
    is_mapped_ = file.has_value();
    if (file) mapped_ = MappedFile(*file);
    resources.progress->finish();
  });
}

}  // namespace quern
