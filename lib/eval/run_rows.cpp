#include "quern/eval/run_rows.hpp"

#include <fmt/format.h>

#include <bit>

#include "quern/core/bytes.hpp"
#include "quern/formats/queries/run_file.hpp"

namespace quern {
namespace {

/// Separates query and document in a key; neither can contain it.
constexpr char key_separator = '\0';

/// A row without its key: file, value, line.
constexpr std::size_t row_bytes = 20;

/// Lines between reports of progress.
constexpr std::uint64_t progress_step = 1 << 14;

}  // namespace

RunRows::RunRows(const Resources& resources)
    : resources_(resources), rows_(resources.tmp_folder, resources.memory_bytes / 4) {}

void RunRows::read_file(const std::string& name, std::string_view remedy, const std::function<void()>& read) {
  files_.push_back({name, remedy});
  lines_ = 0;
  resources_.progress->start("read " + name, 0, "lines");
  read();
  resources_.progress->add(lines_ % progress_step);
  resources_.progress->finish();
}

void RunRows::read_judgements(ByteSource& qrels) {
  read_file(qrels.name(), "keep one judgement of each document, also where column 2 is a subtopic", [&] {
    read_qrels(qrels, [&](const JudgementLine& line, std::uint64_t number) {
      add(line.qid, line.docno, line.relevance, number);
    });
  });
}

void RunRows::add(std::string_view qid, std::string_view docno, double value, std::uint64_t line) {
  if (qid.find(key_separator) != qid.npos || docno.find(key_separator) != docno.npos)
    throw CorruptFile("{}, line {}: the name of a query or document contains a zero byte", files_.back().name, line);
  key_.assign(qid);
  key_ += key_separator;
  key_ += docno;
  std::uint8_t row[row_bytes];
  store_le(row, static_cast<std::uint32_t>(files_.size() - 1));
  store_le(row + 4, std::bit_cast<std::uint64_t>(value));
  store_le(row + 12, line);
  rows_.add(key_, row);
  if (++lines_ % progress_step == 0) resources_.progress->add(progress_step);
}

void RunRows::merge(const std::function<void(const Row&)>& visit) {
  std::string last_key, last_qid;
  std::uint32_t last_file = 0;
  std::uint64_t last_line = 0;  // from 1; 0 before the first row
  rows_.merge([&](std::string_view key, ByteView payload) {
    const std::size_t end = key.find(key_separator);
    Row row{key.substr(0, end), key.substr(end + 1)};
    row.file = load_le<std::uint32_t>(payload.data());
    row.value = std::bit_cast<double>(load_le<std::uint64_t>(payload.data() + 4));
    const auto line = load_le<std::uint64_t>(payload.data() + 12);
    row.begins_document = last_line == 0 || key != last_key;
    row.begins_query = last_line == 0 || row.qid != last_qid;
    if (!row.begins_document && row.file == last_file)
      throw CorruptFile("{}, line {}: query {} has document {} already in line {}; {}", files_[row.file].name, line,
                        row.qid, row.docno, last_line, files_[row.file].remedy);
    if (row.begins_document) last_key.assign(key);
    if (row.begins_query) last_qid.assign(row.qid);
    last_file = row.file;
    last_line = line;
    visit(row);
  });
}

}  // namespace quern
