#include "quern/gpu/worker/worker_pool.hpp"

#include <system_error>

#include "quern/gpu/device/device_info.hpp"

namespace quern::gpu {
namespace {

std::size_t threads_here() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

}  // namespace

std::vector<unsigned> gpu_numbers(unsigned first, unsigned count) {
  if (!built_with_cuda())
    throw CudaError("this program was built without CUDA; build it with QUERN_CUDA=ON, or use {} cpu",
                    option_name<"device">);
  const std::size_t present = list_gpus().size();
  if (present == 0) throw CudaError("this machine has no GPU that CUDA can use; use {} cpu", option_name<"device">);
  const std::size_t end = count == 0 ? present : std::size_t{first} + count;
  if (first >= present || end > present)
    throw InvalidArgument("no GPU {}: this machine has {}, numbered from 0", std::max<std::size_t>(first, present),
                          present);
  std::vector<unsigned> numbers;
  for (unsigned number = first; number < end; ++number) numbers.push_back(number);
  return numbers;
}

std::vector<std::exception_ptr> in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> thrown(count);
  const auto run = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(run, i);
  if (count > 0) run(0);
  threads.clear();
  return thrown;
}

HelperThreads::HelperThreads(std::size_t max_helpers, std::function<void()> work)
    : max_threads_(std::min(max_helpers, std::max<std::size_t>(threads_here(), 2) - 1)),
      work_(std::move(work)),
      // A slot per thread, so that none waits for another to leave.
      arena_(static_cast<int>(threads_here()), static_cast<unsigned>(std::max<std::size_t>(max_threads_, 1))) {}

void HelperThreads::start() {
  if (!threads_.empty()) return;
  try {
    for (std::size_t i = 0; i < max_threads_; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // The existing threads do all the work.
  }
}

void HelperThreads::run() {
  try {
    arena_.execute([this] { work_(); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

unsigned FlightControl::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  auto free = flights_.end();
  changed_.wait(lock, [&] {
    if (ticket != served_) return false;
    free = std::find_if(flights_.begin(), flights_.end(), [](const State& flight) { return !flight.taken; });
    return free != flights_.end();
  });
  ++served_;
  *free = {};
  free->taken = true;
  free->thread = std::this_thread::get_id();
  changed_.notify_all();  // another flight may be free for the next thread
  return static_cast<unsigned>(free - flights_.begin());
}

void FlightControl::give_back(unsigned flight) {
  const std::lock_guard lock(mutex_);
  flights_[flight] = {};
  changed_.notify_all();
}

void FlightControl::wait_for_earlier(unsigned flight) {
  std::unique_lock lock(mutex_);
  const std::uint64_t own = flights_[flight].launch;
  changed_.wait(lock, [&] {
    return std::none_of(flights_.begin(), flights_.end(), [&](const State& other) {
      return other.launch > 0 && other.launch < own && other.thread != std::this_thread::get_id();
    });
  });
}

void FlightControl::checked(unsigned flight, bool sound) {
  const std::uint64_t own = std::exchange(flights_[flight].launch, 0);
  if (!sound)
    for (State& other : flights_) other.spoiled |= other.launch > own;
  changed_.notify_all();
}

}  // namespace quern::gpu
