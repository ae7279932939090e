#pragma once
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

/// Terms on their way from the thread that finds them to another one, some at a time.
class TermNames {
 public:
  /// Adds the next term; they are numbered from 0.
  void add(std::string_view name) {
    adding_.text += name;
    adding_.ends.push_back(adding_.text.size());
  }
  /// Lets the other thread ask for the terms that were added.
  void hand_over() {
    if (adding_.ends.empty()) return;
    const term_t next = adding_.end();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::exchange(adding_, Names{next, {}, {}}));
  }
  /// A term that was handed over; to be asked for in rising order. The view is valid until the next call.
  std::string_view at(term_t number) {
    while (number >= at_hand_.end()) {
      const std::lock_guard lock(mutex_);
      at_hand_ = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::size_t i = number - at_hand_.first, begin = i == 0 ? 0 : at_hand_.ends[i - 1];
    return std::string_view(at_hand_.text).substr(begin, at_hand_.ends[i] - begin);
  }

 private:
  /// Consecutive terms.
  struct Names {
    term_t first = 0;
    std::string text;
    std::vector<std::size_t> ends;  ///< in the text

    term_t end() const { return first + static_cast<term_t>(ends.size()); }
  };

  Names adding_, at_hand_;
  std::mutex mutex_;
  std::deque<Names> waiting_;
};

}  // namespace quern
