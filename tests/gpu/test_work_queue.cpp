#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "quern/gpu/worker/work_queue.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

#include "catch.hpp"

/// Queues of batches for several GPUs, tested without a GPU.
namespace quern {
namespace {

struct Work {
  std::size_t number = 0;
  std::atomic<int> done = 0;
};

using Queue = gpu::WorkQueue<Work>;

std::vector<Work*> pointers_to(std::vector<Work>& queries) {
  std::vector<Work*> pointers;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    queries[i].number = i;
    pointers.push_back(&queries[i]);
  }
  return pointers;
}

std::vector<std::size_t> numbers_of(const std::vector<Work*>& queries) {
  std::vector<std::size_t> numbers;
  for (const Work* query : queries) numbers.push_back(query->number);
  return numbers;
}

/// Stands for a GPU: counts the queries that it answers, and fails at one of them.
class FakeWorker {
 public:
  enum class Failure { none, at_launch, at_landing, damage };

  explicit FakeWorker(unsigned gpu, std::size_t max_items = 3) : gpu_(gpu), max_items_(max_items) {}
  unsigned gpu() const { return gpu_; }
  void fail(Failure failure, int after) { failure_ = failure, left_ = after; }
  void process(Queue& queue) {
    const std::lock_guard alone(processing_);
    gpu::answer_in_turn(
        queue, control_, [this](unsigned, std::span<Work* const> queries) { return launch(queries); },
        [this](unsigned, std::span<Work* const> queries) { land(queries); }, [this](unsigned) { abandoned = true; });
  }

  std::vector<std::size_t> landed;
  unsigned in_flight = 0, max_in_flight = 0;
  bool abandoned = false;

 private:
  std::size_t launch(std::span<Work* const> queries) {
    if (failure_ == Failure::at_launch && left_-- == 0) throw CudaError("launch failed");
    max_in_flight = std::max(max_in_flight, ++in_flight);
    return std::min(queries.size(), max_items_);
  }
  void land(std::span<Work* const> queries) {
    if (failure_ == Failure::at_landing && left_-- == 0) throw CudaError("landing failed");
    if (failure_ == Failure::damage && left_-- == 0) throw CorruptFile("damaged");
    --in_flight;
    for (Work* query : queries) {
      ++query->done;
      landed.push_back(query->number);
    }
  }

  unsigned gpu_;
  std::size_t max_items_;
  std::mutex processing_;
  gpu::FlightControl control_{2};
  Failure failure_ = Failure::none;
  int left_ = 0;
};

using Workers = gpu::WorkerPool<FakeWorker>;

Workers workers_of(unsigned count) {
  std::vector<unsigned> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0u);
  NoProgress progress;
  return Workers(gpu::make_workers<FakeWorker>(
      gpus, progress, [](unsigned gpu, Progress&) { return std::make_unique<FakeWorker>(gpu); }));
}

/// Processes the queue with `threads` threads, each with one of the first `threads` GPUs. Returns each thread's
/// exception.
std::vector<std::exception_ptr> process(Workers& workers, Queue& queue, std::size_t threads,
                                        std::vector<std::string>& failed) {
  std::vector<std::vector<std::string>> thread_failures(threads);
  auto thrown = gpu::in_threads(threads, [&](std::size_t i) {
    workers.use(
        threads, [&](FakeWorker& worker) { worker.process(queue); }, thread_failures[i]);
  });
  for (const auto& texts : thread_failures) failed.insert(failed.end(), texts.begin(), texts.end());
  return thrown;
}

bool all_threw(const std::vector<std::exception_ptr>& thrown, const std::string& text) {
  return std::all_of(thrown.begin(), thrown.end(), [&](const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
      return false;
    } catch (const CudaError& failure) {
      return std::string(failure.what()).find(text) != std::string::npos;
    }
  });
}

bool all_done_once(const std::vector<Work>& queries) {
  return std::all_of(queries.begin(), queries.end(), [](const Work& query) { return query.done == 1; });
}

}  // namespace

TEST_CASE("a GPU has two batches in flight and lands them in order", "[gpu_pipeline]") {
  std::vector<Work> queries(20);
  Queue queue(pointers_to(queries), {7});
  FakeWorker worker(0);
  worker.process(queue);
  CHECK(queue.empty());
  CHECK(all_done_once(queries));
  CHECK(std::is_sorted(worker.landed.begin(), worker.landed.end()));
  CHECK(worker.max_in_flight == 2);
  CHECK(worker.in_flight == 0);
}

TEST_CASE("a GPU that fails returns its unfinished items in order", "[gpu_pipeline]") {
  using Failure = FakeWorker::Failure;
  for (const Failure failure : {Failure::at_launch, Failure::at_landing})
    for (const int after : {0, 1, 2, 3, 4}) {
      std::vector<Work> queries(20);
      Queue queue(pointers_to(queries), {7});
      FakeWorker worker(0);
      worker.fail(failure, after);
      CHECK_THROWS_AS(worker.process(queue), CudaError);
      CHECK(worker.abandoned);
      FakeWorker other(1);
      other.process(queue);
      CHECK(all_done_once(queries));
      CHECK(worker.landed.size() + other.landed.size() == queries.size());
      CHECK(std::is_sorted(other.landed.begin(), other.landed.end()));
    }
}

TEST_CASE("other errors stop the queue", "[gpu_pipeline]") {
  std::vector<Work> queries(20);
  Queue queue(pointers_to(queries), {7});
  FakeWorker worker(0);
  worker.fail(FakeWorker::Failure::damage, 1);
  CHECK_THROWS_AS(worker.process(queue), CorruptFile);
  CHECK(queue.empty());
}

TEST_CASE("GPUs that fail are excluded, and the others do their work", "[gpu_pipeline]") {
  Workers workers = workers_of(3);
  std::vector<Work> queries(200);
  Queue queue(pointers_to(queries), {5});
  workers.for_each([](FakeWorker& worker) {
    if (worker.gpu() != 1) worker.fail(FakeWorker::Failure::at_landing, static_cast<int>(worker.gpu()));
  });
  std::vector<std::string> failed;
  for (const std::exception_ptr& error : process(workers, queue, 3, failed)) CHECK(error == nullptr);
  CHECK(all_done_once(queries));
  CHECK(workers.size() + failed.size() == 3);
  for (const std::string& text : failed) CHECK(text.find("is no longer used: landing failed") != std::string::npos);

  std::vector<Work> more(50);
  Queue next(pointers_to(more), {5});
  workers.for_each([](FakeWorker& worker) { worker.fail(FakeWorker::Failure::at_launch, 0); });
  CHECK(all_threw(process(workers, next, 1, failed), "launch failed"));
  CHECK(workers.size() == 0);
  CHECK(all_threw(process(workers, next, 3, failed), "all GPUs have failed"));
}

TEST_CASE("no more GPUs work than requested", "[gpu_pipeline]") {
  Workers workers = workers_of(4);
  std::vector<Work> queries(40);
  Queue queue(pointers_to(queries), {5});
  std::vector<std::string> failed;
  process(workers, queue, 2, failed);
  std::size_t worked = 0;
  workers.for_each([&](FakeWorker& worker) {
    CHECK((worker.gpu() < 2 || worker.landed.empty()));
    worked += worker.landed.size();
  });
  CHECK(worked == queries.size());
  CHECK(all_done_once(queries));
}

TEST_CASE("a queue ends batches by number and by cost", "[gpu_pipeline]") {
  std::vector<Work> queries(10);
  Queue by_number(pointers_to(queries), {4});
  CHECK(numbers_of(by_number.take()) == std::vector<std::size_t>{0, 1, 2, 3});
  Queue by_cost(pointers_to(queries), {100, 5, [](const Work& query) { return query.number; }});
  CHECK(numbers_of(by_cost.take()) == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(numbers_of(by_cost.take()) == std::vector<std::size_t>{4, 5});
  const auto batch = by_cost.take();
  by_cost.give_back(batch);
  CHECK(by_cost.take() == batch);
}

TEST_CASE("results that arrive in any order are delivered in order, in the calling thread", "[gpu_pipeline]") {
  constexpr std::size_t count = 500;
  gpu::ResultsInOrder<std::vector<std::size_t>> results(count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&results, t] {
      for (std::size_t i = t; i < count; i += 3) results.put(i, {i, i + 1});
    });
  std::size_t next = 0;
  results.deliver([&](std::size_t place, const std::vector<std::size_t>& result) {
    CHECK(place == next++);
    CHECK(result == std::vector<std::size_t>{place, place + 1});
  });
  CHECK(next == count);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("results after one that never arrives are not delivered", "[gpu_pipeline]") {
  gpu::ResultsInOrder<int> results(4);
  results.put(0, 10);
  results.put(2, 12);
  std::thread thread([&] {
    results.put(3, 13);
    results.end();
  });
  std::vector<int> handed;
  results.deliver([&](std::size_t, int result) { handed.push_back(result); });
  thread.join();
  CHECK(handed == std::vector<int>{10});
}

}  // namespace quern
