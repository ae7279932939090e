#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "quern/core/error.hpp"

#include "failing_calls/failing_entry_points.hpp"
#include "failing_calls/failing_new.hpp"

/// Calls the library's public functions on a tiny corpus, and makes their allocations fail one by one. Each call must
/// succeed or throw one of the library's exceptions, and leave no file behind. Leaked allocations are printed. With
/// --threads, counts the threads that the functions start instead.
namespace quern::testing {
namespace {

/// Each call reads the output of the previous ones.
void call_all(const Workplace& place) {
  for (const EntryPoint& entry : all_calls(place)) entry.call();
}

struct Turns {
  long first = 2000, random = 2000, step = 1;
};

/// Makes allocation number `turn` of a call fail. False if the call has fewer. `wrong` receives what went wrong.
bool fail_at(const EntryPoint& entry, long turn, std::string& wrong) {
  allocations_left = turn;
  try {
    translate_errors(entry.call);  // as lib/api and the command line do
  } catch (const Error&) {
  } catch (const std::exception& error) {
    allocations_left = 0;
    wrong = std::string("throws ") + error.what();
  } catch (...) {
    allocations_left = 0;
    wrong = "throws something that isn't a std::exception";
  }
  return allocations_left.exchange(0) <= 0;
}

/// Returns the number of errors.
int fail_all(const Workplace& place, const Turns& turns) {
  int errors = 0;
  for (const EntryPoint& entry : all_calls(place)) {
    const auto check = [&](long turn) {
      std::string wrong;
      const bool failed = fail_at(entry, turn, wrong);
      if (wrong.empty() && !place.leftovers().empty()) wrong = "leaves " + *place.leftovers().begin();
      if (!wrong.empty()) {
        ++errors;
        std::printf("%s: allocation %ld: %s\n", entry.name, turn, wrong.c_str());
      }
      return failed;
    };
    // Counts the allocations.
    constexpr long never = 1L << 40;
    allocations_left = never;
    entry.call();
    const long all = never - allocations_left.exchange(0);
    const long alive = allocations_alive;
    long failed = 0;
    for (long turn = 1; turn <= std::min(all, turns.first); turn += turns.step) failed += check(turn);
    std::mt19937_64 random(1);
    const long later = all - turns.first;
    for (long i = 0; later > 0 && i < std::min(later, turns.random); i += turns.step)
      failed += check(turns.first + 1 + static_cast<long>(random() % static_cast<unsigned long>(later)));
    const long lost = allocations_alive - alive;
    std::printf("%-24s %6ld allocations, %5ld failed, %ld more alive\n", entry.name, all, failed, lost);
    std::fflush(stdout);
  }
  return errors;
}

/// Returns how often there were more threads than requested.
int count_threads() {
  int errors = 0;
  for (const unsigned threads : {1u, 2u}) {
    const Workplace place(threads);
    call_all(place);
    int own_threads = 0;
    for (const EntryPoint& entry : all_calls(place)) {
      own_threads += entry.own_threads;
      const int before = threads_started;
      entry.call();
      // oneTBB keeps its threads, so they are counted in the first call that uses them.
      const int workers = threads_started - before - entry.own_threads;
      if (workers <= static_cast<int>(threads) - 1) continue;
      ++errors;
      std::printf("%s starts %d threads besides its own for %u\n", entry.name, workers, threads);
    }
    // Threads of call_all() count too: each function was called twice with each number of threads so far.
    const int started = threads_started - 2 * own_threads * static_cast<int>(threads);
    if (started > static_cast<int>(threads) - 1) {
      ++errors;
      std::printf("all calls together start %d threads besides their own for %u\n", started, threads);
    }
  }
  return errors;
}

long number_of(const char* text) {
  long number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace
}  // namespace quern::testing

int main(int argc, char** argv) {
  using namespace quern::testing;
  Turns turns;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--threads") return count_threads() == 0 ? 0 : 1;
    if (i + 1 == argc) break;
    if (option == "--step") turns.step = number_of(argv[++i]);
    if (option == "--first") turns.first = number_of(argv[++i]);
    if (option == "--random") turns.random = number_of(argv[++i]);
  }
  const Workplace place(2);
  call_all(place);
  return fail_all(place, turns) == 0 ? 0 : 1;
}
