#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/gpu/worker/pipeline.hpp"

namespace quern::gpu {

/// Several GPUs' shares, for any number of threads: each works with the one that is used by the fewest. A GPU that
/// fails is not used again. Thread-safe, but for for_each() and front(), during which no share may be in use. Host
/// code.
template <class Share>
class SharePool {
 public:
  explicit SharePool(std::vector<std::unique_ptr<Share>> shares) {
    for (std::unique_ptr<Share>& share : shares) members_.push_back({std::move(share), 0});
  }

  /// GPUs that have not failed.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return members_.size();
  }
  Share& front() const { return *members_.front().share; }
  void for_each(const std::function<void(Share&)>& visit) const {
    for (const Member& member : members_) visit(*member.share);
  }

  /// Calls use(share) with one of the first `most` shares. If that throws CudaError, the share is left out, a sentence
  /// is added to `failed`, and another one is used; if it was the last, or none was left, throws CudaError. Throws what
  /// else `use` throws.
  template <class Use>
  void use(std::size_t most, const Use& use, std::vector<std::string>& failed) {
    for (;;) {
      std::shared_ptr<Share> share = begin(most);
      try {
        use(*share);
        return end(std::move(share));
      } catch (const CudaError& error) {
        const std::string text = left_out(share->gpu(), error);
        const bool is_first = leave_out(*share, text);
        end(std::move(share));
        if (size() == 0) throw;
        if (is_first) failed.push_back(text);
      } catch (...) {
        end(std::move(share));
        throw;
      }
    }
  }

 private:
  struct Member {
    std::shared_ptr<Share> share;
    std::size_t users = 0;
  };

  std::shared_ptr<Share> begin(std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (members_.empty())
      throw CudaError("no GPU is left that has not failed; ask for --device cpu (the last one: " + last_failure_ + ")");
    const auto end = members_.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(most, 1, members_.size()));
    const auto least =
        std::min_element(members_.begin(), end, [](const Member& a, const Member& b) { return a.users < b.users; });
    ++least->users;
    return least->share;
  }
  void end(std::shared_ptr<Share> share) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto member = member_of(*share); member != members_.end()) {
        --member->users;
        return;
      }
    }
    drop_failed(std::move(share));
  }
  /// False if another thread did it before.
  bool leave_out(const Share& share, const std::string& failure) {
    const std::lock_guard lock(mutex_);
    const auto member = member_of(share);
    if (member == members_.end()) return false;
    members_.erase(member);
    last_failure_ = failure;
    return true;
  }
  typename std::vector<Member>::iterator member_of(const Share& share) {
    return std::find_if(members_.begin(), members_.end(),
                        [&](const Member& member) { return member.share.get() == &share; });
  }

  mutable std::mutex mutex_;
  std::vector<Member> members_;
  std::string last_failure_;  ///< which others may report while a search still runs
};

}  // namespace quern::gpu
