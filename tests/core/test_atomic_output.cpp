#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/io/atomic_output.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Names of all entries of a folder, including hidden ones.
std::set<std::string> entries(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path(""))) names.insert(entry.path().filename().string());
  return names;
}

void write_file(const std::string& path, const char* text, bool force) {
  AtomicOutput output = AtomicOutput::file(path, force);
  output.file().write_at(0, as_bytes(text));
  output.commit();
}

void write_folder(const std::string& path, const char* text, bool force) {
  AtomicOutput output = AtomicOutput::folder(path, {"member"}, force);
  output.file().write_at(0, as_bytes(text));
  output.commit();
}

/// A process that locks `path` until the end of the test.
class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      const int descriptor = ::open(path.c_str(), O_RDONLY);
      const bool locked = descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
      if (!locked || ::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte;
    holds_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~LockHolder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  bool holds() const { return holds_; }

 private:
  pid_t child_ = -1;
  bool holds_ = false;
};

}  // namespace

TEST_CASE("A file appears under its name only on commit", "[core]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("out");
  {
    AtomicOutput output = AtomicOutput::file(path, false);
    CHECK(output.file().name() == path);
    output.file().write_at(0, as_bytes("new"));
    CHECK_FALSE(fs::exists(path));
    output.commit();
    CHECK(text_of(path) == "new");
  }
  CHECK(text_of(path) == "new");
  CHECK(entries(folder) == std::set<std::string>{"out"});
}

TEST_CASE("A folder appears, complete, only on commit", "[core]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("out");
  {
    AtomicOutput output = AtomicOutput::folder(path + "/", {"member"}, false);
    CHECK(output.path() == path);
    output.file().write_at(0, as_bytes("new"));
    CHECK_FALSE(fs::exists(path));
    output.commit();
    CHECK(text_of(path + "/member") == "new");
  }
  CHECK(text_of(path + "/member") == "new");
  CHECK(entries(folder) == std::set<std::string>{"out"});
}

TEST_CASE("An output that is never committed leaves no files and does not touch the old one", "[core]") {
  const TemporaryFolder folder;
  const auto fail = [&](AtomicOutput output) {
    output.file().write_at(0, as_bytes("half"));
    throw 1;
  };
  CHECK_THROWS_AS(fail(AtomicOutput::file(folder.path("file"), false)), int);
  CHECK_THROWS_AS(fail(AtomicOutput::folder(folder.path("folder"), {"member"}, false)), int);
  CHECK(entries(folder).empty());

  write_file(folder.path("file"), "old", false);
  write_folder(folder.path("folder"), "old", false);
  CHECK_THROWS_AS(fail(AtomicOutput::file(folder.path("file"), true)), int);
  CHECK_THROWS_AS(fail(AtomicOutput::folder(folder.path("folder"), {"member"}, true)), int);
  CHECK(text_of(folder.path("file")) == "old");
  CHECK(text_of(folder.path("folder/member")) == "old");
  CHECK(entries(folder) == std::set<std::string>{"file", "folder"});
}

TEST_CASE("Existing output is overwritten only with force", "[core]") {
  const TemporaryFolder folder;
  const std::string file = folder.path("file"), index = folder.path("index");
  write_file(file, "old", false);
  write_folder(index, "old", false);
  CHECK_THROWS_AS(write_file(file, "new", false), InvalidArgument);
  CHECK_THROWS_AS(write_folder(index, "new", false), InvalidArgument);
  CHECK(text_of(file) == "old");
  CHECK(text_of(index + "/member") == "old");
  write_file(file, "new", true);
  write_folder(index, "new", true);
  CHECK(text_of(file) == "new");
  CHECK(text_of(index + "/member") == "new");
  fs::create_directory(folder.path("empty"));
  write_folder(folder.path("empty"), "new", true);
  CHECK(text_of(folder.path("empty/member")) == "new");
  CHECK(entries(folder) == std::set<std::string>{"file", "index", "empty"});
}

TEST_CASE("Output that appears while another is written is not overwritten", "[core]") {
  const TemporaryFolder folder;
  AtomicOutput output = AtomicOutput::file(folder.path("out"), false);
  folder.write("out", "of someone else");
  CHECK_THROWS_AS(output.commit(), InvalidArgument);
  CHECK(text_of(folder.path("out")) == "of someone else");
}

TEST_CASE("Foreign files are never overwritten, not even with force", "[core]") {
  const TemporaryFolder folder;
  folder.write("home/member", "mine");
  folder.write("home/letters", "mine");
  fs::create_directories(folder.path("nested/member"));
  folder.write("nested/member/letters", "mine");
  folder.write("file", "mine");
  for (const char* name : {"home", "nested", "file"})
    CHECK_THROWS_AS(AtomicOutput::folder(folder.path(name), {"member"}, true), InvalidArgument);
  for (const char* name : {"home", "nested"})
    CHECK_THROWS_AS(AtomicOutput::file(folder.path(name), true), InvalidArgument);
  CHECK_THROWS_AS(AtomicOutput::file("/dev/null", true), InvalidArgument);
  CHECK(text_of(folder.path("home/letters")) == "mine");
  CHECK(text_of(folder.path("nested/member/letters")) == "mine");
  CHECK(entries(folder) == std::set<std::string>{"file", "home", "nested"});
}

namespace {

const std::vector<std::string> two_members = {"member", "second"};

/// Writes a folder with the first of two members, or both.
void write_members(const std::string& path, const char* text, bool both) {
  AtomicOutput output = AtomicOutput::folder(path, two_members, true);
  File& first = output.file();
  if (both) output.add_member("second").write_at(0, as_bytes(text));
  first.write_at(0, as_bytes(text));
  output.commit();
}

}  // namespace

TEST_CASE("A folder's files appear together, and are replaced together", "[core]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("out");
  {
    AtomicOutput output = AtomicOutput::folder(path, two_members, false);
    File& first = output.file();
    File& second = output.add_member("second");
    CHECK(&output.file() == &first);
    CHECK(first.name() == path + "/member");
    CHECK(second.name() == path + "/second");
    first.write_at(0, as_bytes("one"));
    second.write_at(0, as_bytes("two"));
    CHECK_FALSE(fs::exists(path));
    output.commit();
  }
  CHECK(text_of(path + "/member") == "one");
  CHECK(text_of(path + "/second") == "two");

  // The replacement may have fewer files or more.
  write_members(path, "alone", false);
  CHECK(text_of(path + "/member") == "alone");
  CHECK_FALSE(fs::exists(path + "/second"));
  write_members(path, "both", true);
  CHECK(text_of(path + "/member") == "both");
  CHECK(text_of(path + "/second") == "both");
  CHECK(entries(folder) == std::set<std::string>{"out"});
}

TEST_CASE("A folder with several files that is never committed leaves none of them", "[core]") {
  const TemporaryFolder folder;
  write_members(folder.path("out"), "old", true);
  {
    AtomicOutput output = AtomicOutput::folder(folder.path("out"), two_members, true);
    output.add_member("second").write_at(0, as_bytes("half"));
    // A duplicate name, and one that is not a member.
    CHECK_THROWS_AS(output.add_member("second"), IoError);
    CHECK_THROWS_AS(output.add_member("member"), IoError);
    CHECK_THROWS_AS(output.add_member("third"), Error);
  }
  CHECK(text_of(folder.path("out/member")) == "old");
  CHECK(text_of(folder.path("out/second")) == "old");
  CHECK(entries(folder) == std::set<std::string>{"out"});
}

TEST_CASE("A folder that lacks the first file, or holds others, is not replaced", "[core]") {
  const TemporaryFolder folder;
  folder.write("other/second", "mine");
  folder.write("more/member", "mine");
  folder.write("more/second", "mine");
  folder.write("more/third", "mine");
  folder.write("one/member", "mine");
  folder.write("one/second", "mine");
  fs::create_directories(folder.path("nested/second"));
  folder.write("nested/member", "mine");
  fs::create_directory(folder.path("linked"));
  folder.write("linked/member", "mine");
  fs::create_symlink("member", folder.path("linked/second"));
  for (const char* name : {"other", "more", "nested", "linked"})
    CHECK_THROWS_AS(AtomicOutput::folder(folder.path(name), two_members, true), InvalidArgument);
  CHECK_THROWS_AS(AtomicOutput::folder(folder.path("one"), {"member"}, true), InvalidArgument);
  CHECK(text_of(folder.path("other/second")) == "mine");

  // Nor if it becomes such a folder in the meantime.
  write_members(folder.path("out"), "old", true);
  AtomicOutput output = AtomicOutput::folder(folder.path("out"), two_members, true);
  output.add_member("second").write_at(0, as_bytes("new"));
  folder.write("out/third", "mine");
  CHECK_THROWS_AS(output.commit(), InvalidArgument);
  CHECK(text_of(folder.path("out/second")) == "old");
  CHECK(text_of(folder.path("out/third")) == "mine");
}

TEST_CASE("A process that ends at once leaves nothing of a folder's files", "[core]") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicOutput output = AtomicOutput::folder(folder.path("out"), two_members, true);
    output.add_member("second").write_at(0, as_bytes("half"));
    discard_unfinished_outputs();
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(entries(folder).empty());

  const pid_t killed = ::fork();
  if (killed == 0) {
    AtomicOutput output = AtomicOutput::folder(folder.path("out"), two_members, true);
    output.add_member("second").write_at(0, as_bytes("half"));
    ::_exit(0);  // runs no destructors
  }
  REQUIRE(::waitpid(killed, &status, 0) == killed);
  CHECK(entries(folder).size() == 1);
  write_members(folder.path("out"), "new", true);
  CHECK(entries(folder) == std::set<std::string>{"out"});
}

TEST_CASE("A folder that can't be written is an error", "[core]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(AtomicOutput::file(folder.path("missing/out"), false), IoError);
  CHECK_THROWS_AS(AtomicOutput::folder(folder.path("missing/out"), {"member"}, false), IoError);
}

TEST_CASE("Leftovers of killed runs are removed, files of active runs are kept", "[core]") {
  const TemporaryFolder folder;
  folder.write(".out.quern-tmp-1-0", "of a killed run");
  folder.write(".out.quern-tmp-2-0/member", "of a killed run");
  const std::string living = folder.write(".out.quern-tmp-3-0", "of a living run");
  folder.write(".other.quern-tmp-1-0", "of another output");
  folder.write(".out.quern", "of someone else");
  const LockHolder holder(living);
  REQUIRE(holder.holds());
  write_file(folder.path("out"), "new", false);
  CHECK(entries(folder) == std::set<std::string>{"out", ".out.quern-tmp-3-0", ".other.quern-tmp-1-0", ".out.quern"});
  CHECK(text_of(living) == "of a living run");
}

TEST_CASE("Two runs at once do not disturb each other", "[core]") {
  const TemporaryFolder folder;
  AtomicOutput first = AtomicOutput::folder(folder.path("out"), {"member"}, true);
  AtomicOutput second = AtomicOutput::folder(folder.path("out"), {"member"}, true);
  first.file().write_at(0, as_bytes("first"));
  second.file().write_at(0, as_bytes("second"));
  first.commit();
  CHECK(text_of(folder.path("out/member")) == "first");
  second.commit();
  CHECK(text_of(folder.path("out/member")) == "second");
}

TEST_CASE("Processes that write the same output at once all succeed, and one of them stays", "[core]") {
  const TemporaryFolder folder;
  const auto write_often = [&](const char* text) {
    try {
      for (int i = 0; i < 100; ++i) {
        write_file(folder.path("file"), text, true);
        write_folder(folder.path("folder"), text, true);
        write_members(folder.path("members"), text, i % 2 == 0);
      }
    } catch (const Error&) {
      return 1;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (const char* text : {"one", "two", "six", "ten"}) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(write_often(text));
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(text_of(folder.path("file")).size() == 3);
  CHECK(text_of(folder.path("folder/member")).size() == 3);
  CHECK(text_of(folder.path("members/member")).size() == 3);
  CHECK(entries(folder) == std::set<std::string>{"file", "folder", "members"});
}

TEST_CASE("Outputs of a group appear together, or the old ones stay", "[core]") {
  const TemporaryFolder folder;
  write_file(folder.path("old"), "before", true);
  write_folder(folder.path("folder"), "before", true);
  const auto write_group = [&](const std::string& last) {
    std::vector<std::unique_ptr<AtomicOutput>> outputs;
    outputs.emplace_back(new AtomicOutput(AtomicOutput::file(folder.path("new"), true)));
    outputs.emplace_back(new AtomicOutput(AtomicOutput::file(folder.path("old"), true)));
    outputs.emplace_back(new AtomicOutput(AtomicOutput::folder(folder.path("folder"), {"member"}, true)));
    outputs.emplace_back(new AtomicOutput(AtomicOutput::file(last, false)));
    for (const auto& output : outputs) output->file().write_at(0, as_bytes("after"));
    write_file(folder.path("late"), "late", true);  // blocks the last output
    AtomicOutput::commit_together(outputs);
  };
  CHECK_THROWS_AS(write_group(folder.path("late")), InvalidArgument);
  CHECK(entries(folder) == std::set<std::string>{"folder", "late", "old"});
  CHECK(text_of(folder.path("old")) == "before");
  CHECK(text_of(folder.path("folder/member")) == "before");

  write_group(folder.path("last"));
  CHECK(entries(folder) == std::set<std::string>{"folder", "last", "late", "new", "old"});
  for (const char* name : {"new", "old", "folder/member", "last"}) CHECK(text_of(folder.path(name)) == "after");
}

TEST_CASE("The folder of a path is the part before the name", "[core]") {
  CHECK(folder_of("a/b/c") == "a/b");
  CHECK(folder_of("c") == ".");
  CHECK(folder_of("/c") == "/");
}
