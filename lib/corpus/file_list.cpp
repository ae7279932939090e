#include "quern/corpus/file_list.hpp"

#include <string_view>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

void check_path(std::string_view path, bool is_cut) {
  if (is_cut)
    throw InvalidArgument("the line is longer than any path; a list of files is a text with a path on each line");
  if (path.find('\0') != std::string_view::npos)
    throw InvalidArgument("the line holds a zero byte; a list of files is a text with a path on each line");
  if (path == "-") throw InvalidArgument("a list names files, and not standard input; write ./- for a file called -");
  if (path.find("://") != std::string_view::npos)
    throw InvalidArgument("'" + std::string(path) + "' is an address; fetch the file, and list where it is then");
}

}  // namespace

FileList::FileList(const std::string& path, std::string root, const Resources& resources)
    : name_(path == "-" ? "standard input" : path), root_(std::move(root)), text_(path, resources) {
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

}  // namespace quern
