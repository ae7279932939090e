#include "quern/corpus/find_ranges.hpp"

#include "quern/core/error.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/io/file.hpp"

namespace quern {

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
    std::uint64_t next = 0;  // share of the bytes, of `count`, with which the next range begins
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
    if (ranges.empty()) throw InvalidArgument(path + ": has no record; name another file, or give its --format");
    // Without the bracket that ends an array of JSON objects, since the one that begins it is in the first range.
    if (last.format == &jsonl_format()) ranges.back().to = last.file_offset + last.size;
    resources.progress->finish();
    return ranges;
  });
}

}  // namespace quern
