#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

/// Loaded before a program's libraries (LD_PRELOAD), makes one system call fail: call number FAILING_TURN, from 1, of
/// the function FAILING_CALL, with the error number FAILING_ERROR. Creates the file FAILING_REPORT when it fails.
namespace {

long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

/// Whether this call must fail; if so, sets errno.
bool fails(const char* call) {
  static const char* const failing = std::getenv("FAILING_CALL");
  static const long turn = number_in("FAILING_TURN");
  static std::atomic<long> calls = 0;
  if (failing == nullptr || std::strcmp(failing, call) != 0 || ++calls != turn) return false;
  if (const char* const report = std::getenv("FAILING_REPORT")) {
    const long descriptor = ::syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor >= 0) ::syscall(SYS_close, descriptor);
  }
  errno = static_cast<int>(number_in("FAILING_ERROR"));
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int open_unless_failing(const char* path, int flags, unsigned mode) {
  if (fails("open")) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

/// The mode argument of open(), if there is one.
unsigned mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (fails("write")) return -1;
  return ::syscall(SYS_write, descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  if (fails("pwrite")) return -1;
  return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return -1;
  return static_cast<int>(::syscall(SYS_rename, from, to));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (fails("rename")) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int fsync(int descriptor) {
  if (fails("fsync")) return -1;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

int ftruncate(int descriptor, off_t size) noexcept {
  if (fails("ftruncate")) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  static auto* const real = next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails("pthread_create") ? errno : real(thread, attributes, work, argument);
}

int ftruncate64(int descriptor, off64_t size) noexcept { return ftruncate(descriptor, size); }

void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  static auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  // Mappings without a file belong to the allocator.
  if (descriptor >= 0 && fails("mmap")) return MAP_FAILED;
  return real(address, size, protection, flags, descriptor, offset);
}

void* mmap64(void* address, size_t size, int protection, int flags, int descriptor, off64_t offset) noexcept {
  return mmap(address, size, protection, flags, descriptor, offset);
}

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_failing(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_failing(path, flags, mode);
}
}
