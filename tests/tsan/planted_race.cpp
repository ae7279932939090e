#include <tbb/parallel_for.h>

#include <cstdio>
#include <cstring>
#include <vector>

// Run by scripts/tsan. With the argument "race", tasks of one tbb::parallel_for write the same number, which
// ThreadSanitizer must report. Without it, each writes its own number, all of which are read after the loop, which must
// not
// be reported.
int main(int argc, char** argv) {
  const bool race = argc == 2 && std::strcmp(argv[1], "race") == 0;
  std::vector<int> written(100'000);
  tbb::parallel_for(std::size_t{0}, written.size(), [&](std::size_t i) { written[race ? 0 : i] += 1; });
  long sum = 0;
  for (const int number : written) sum += number;
  std::printf("%ld\n", sum);
  return 0;
}
