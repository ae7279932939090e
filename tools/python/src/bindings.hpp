#pragma once
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <mutex>

/// The module's parts: each adds its classes and functions.
namespace quern::python {

void bind_index(nanobind::module_& module);
void bind_searcher(nanobind::module_& module);
void bind_builder(nanobind::module_& module);
void bind_second_stage(nanobind::module_& module);
void bind_tools(nanobind::module_& module);

/// Translates the library's errors to the classes of quern.errors, by code.
void translate_errors();

// Values that Python programs name.

/// The value of a name. Raises ValueError, which lists all names, for an unknown one.
template <class Value, std::size_t count>
Value named(const std::pair<const char*, Value> (&names)[count], std::string_view name, const char* what) {
  std::string known;
  for (const auto& [text, value] : names) {
    if (name == text) return value;
    known += std::string(known.empty() ? "" : ", ") + text;
  }
  throw nanobind::value_error(
      ("unknown " + std::string(what) + " '" + std::string(name) + "': use one of " + known).c_str());
}

/// The name of a value.
template <class Value, std::size_t count>
const char* name_of(const std::pair<const char*, Value> (&names)[count], Value wanted) {
  return std::find_if(names, names + count, [&](const auto& name) { return name.second == wanted; })->first;
}

/// A member of a struct, and what Python calls it.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};

/// A dict of members of a struct.
template <class Struct, class... Members>
nanobind::dict to_dict(const Struct& from, const Field<Struct, Members>&... fields) {
  nanobind::dict out;
  ((out[fields.name] = from.*fields.member), ...);
  return out;
}

/// Adds members that Python may set to a struct's class.
template <class Struct, class... Members>
void bind_members(nanobind::class_<Struct>& type, const Field<Struct, Members>&... fields) {
  (type.def_rw(fields.name, fields.member), ...);
}

inline constexpr std::pair<const char*, api::Idf> idfs[] = {{"lucene", api::Idf::lucene},
                                                            {"robertson", api::Idf::robertson}};
inline constexpr std::pair<const char*, api::Scorer> scorers[] = {{"bm25", api::Scorer::bm25},
                                                                  {"bm25+pagerank", api::Scorer::bm25_pagerank}};
inline constexpr std::pair<const char*, api::Device> devices[] = {
    {"cpu", api::Device::cpu}, {"gpu", api::Device::gpu}, {"auto", api::Device::automatic}};

/// Results of one or more queries, with their index.
struct Results {
  api::Index index;
  api::BatchResults found;
};

/// Adds the class to the module.
void bind_results(nanobind::module_& module);

// Arrays and texts.

template <class Number>
using Array = nanobind::ndarray<nanobind::numpy, Number, nanobind::ndim<1>, nanobind::c_contig>;

/// A numpy array that owns the vector's memory.
template <class Number>
Array<Number> to_array(std::vector<Number>&& numbers) {
  auto owned = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* const data = owned->data();
  const std::size_t size = owned->size();
  const nanobind::capsule owner(owned.release(),
                                [](void* held) noexcept { delete static_cast<std::vector<Number>*>(held); });
  return Array<Number>(data, {size}, owner);
}

/// The terms of a dict {term: weight}. Keeps them alive, so they may be read without the GIL.
class TermVector {
 public:
  TermVector() = default;
  /// Raises TypeError unless it is a dict of str and numbers.
  explicit TermVector(const nanobind::object& vector);
  std::span<const api::WeightedTerm> view() const { return terms_; }

 private:
  std::vector<nanobind::object> kept_;  ///< the terms, even if the dict changes
  std::vector<api::WeightedTerm> terms_;
};

/// The bytes of a str in UTF-8, valid as long as it. Raises TypeError for anything else, which `what` names, and
/// UnicodeEncodeError for lone surrogates.
std::string_view text_of(nanobind::handle object, const char* what);

/// A str of bytes in UTF-8. `errors`: how Python takes others; null: raises UnicodeDecodeError.
nanobind::object decoded(std::string_view bytes, const char* errors = nullptr);

/// The texts of a sequence of str. Keeps them alive, so they may be read without the GIL.
class TextList {
 public:
  TextList(const nanobind::object& texts, const char* what);
  const std::vector<std::string_view>& views() const { return views_; }

 private:
  nanobind::object kept_;  ///< a tuple, which no other code changes
  std::vector<std::string_view> views_;
};

/// Queries of a sequence of str, or of dicts of terms and weights, which it keeps: may be read without the GIL.
class QueryList {
 public:
  /// Raises TypeError if one is something else, or not of the kind of the first.
  explicit QueryList(const nanobind::object& queries);
  const std::vector<api::Query>& queries() const { return queries_; }

 private:
  nanobind::object kept_;
  std::vector<TermVector> vectors_;
  std::vector<api::Query> queries_;
};

// Arguments of methods that are called often: they name their parameter in errors, as errors.called() does for
// functions.

/// A text as a template argument.
template <std::size_t size>
struct Name {
  consteval Name(const char (&given)[size]) { std::copy_n(given, size, text); }
  char text[size] = {};
};

/// An argument of the parameter `name`.
template <class Value, Name name>
struct Named {
  operator const Value&() const { return value; }
  Value value;
};

/// Raises the exception of quern.errors.wrong_value().
[[noreturn]] void raise_wrong_value(const char* name, const char* kind, nanobind::handle value);

// Work.

/// A caller's threads, memory and callbacks.
struct WorkArguments {
  unsigned threads = 0;
  std::uint64_t memory = 0;
  nanobind::object progress;  ///< called with (stage, done, total, unit); None: no callback
  nanobind::object warn;      ///< called with a message; None: no callback
};

/// The exception that a caller's function raised while the library called it. The library passes only std::exception
/// on, so the Python exception waits here.
class CallerFailure {
 public:
  /// Calls call() with the GIL. If it raises, keeps the exception and throws std::runtime_error.
  template <class Call>
  void run(Call&& call) {
    const nanobind::gil_scoped_acquire with_gil;
    try {
      call();
    } catch (nanobind::python_error&) {
      keep(std::current_exception());
      throw std::runtime_error("a callback raised an exception");
    }
  }
  /// Throws the kept exception, if any. Call with the GIL.
  void rethrow();

 private:
  void keep(std::exception_ptr raised);

  std::mutex mutex_;
  std::exception_ptr raised_;
};

/// Long-running work that a signal stops: runs in a thread of its own, without the GIL, while the calling thread checks
/// for signals.
class InterruptibleWork {
 public:
  explicit InterruptibleWork(const WorkArguments& arguments);

  /// Throws the exception of the caller's functions, if any. Call with the GIL.
  void rethrow() { failure_->rethrow(); }
  /// Settings for the library, valid as long as this object.
  const api::Work& work() const { return work_; }

  /// The result of run(). Call with the GIL. Throws the exceptions of run() and of a signal's handler; run() has ended
  /// by then.
  template <class Run>
  auto finish(Run&& run) {
    std::future<decltype(run())> result;
    bool was_interrupted = false;
    {
      const nanobind::gil_scoped_release without_gil;
      result = std::async(std::launch::async, std::forward<Run>(run));
      while (result.wait_for(between_looks) != std::future_status::ready)
        if (!was_interrupted && has_signal()) {
          was_interrupted = true;
          stop_.request_stop();
        }
    }
    if (was_interrupted) throw nanobind::python_error();  // the signal handler's exception
    failure_->rethrow();
    return result.get();
  }

 private:
  static constexpr std::chrono::milliseconds between_looks{20};

  /// Checks with the GIL; true: a Python exception is set.
  static bool has_signal();

  std::stop_source stop_;
  std::shared_ptr<CallerFailure> failure_ = std::make_shared<CallerFailure>();
  api::Work work_;
};

/// Work that often reports progress in its calling thread. That thread does the work, without the GIL, and checks for
/// signals at each report, so thread-local data persists from one batch of queries to the next.
class DirectWork {
 public:
  explicit DirectWork(const WorkArguments& arguments);

  const api::Work& work() const { return work_; }

  /// See InterruptibleWork::finish().
  template <class Run>
  auto finish(Run&& run) {
    try {
      const nanobind::gil_scoped_release without_gil;
      return run();
    } catch (const std::exception&) {
      failure_->rethrow();
      throw;
    }
  }

 private:
  std::shared_ptr<CallerFailure> failure_ = std::make_shared<CallerFailure>();
  api::Work work_;
};

/// Sets a caller's functions, which the library calls from its threads. `failure` keeps their exceptions.
void set_callbacks(api::Work& work, const WorkArguments& arguments, const std::shared_ptr<CallerFailure>& failure);

}  // namespace quern::python

/// Takes any object, so that a wrong one is refused by name when the function is called.
template <class Value, quern::python::Name name>
struct nanobind::detail::type_caster<quern::python::Named<Value, name>> {
  using Argument = quern::python::Named<Value, name>;
  template <class T>
  using Cast = Argument;
  template <class T>
  static constexpr bool can_cast() {
    return true;
  }
  static constexpr auto Name = make_caster<Value>::Name;

  bool from_python(handle object, auto flags, cleanup_list* cleanup) noexcept {
    object_ = object;
    is_right_ = caster_.from_python(object, flags, cleanup);
    return true;
  }
  explicit operator Argument() {
    if (!is_right_) quern::python::raise_wrong_value(name.text, kind, object_);
    return {caster_.operator cast_t<Value>()};
  }

 private:
  static constexpr const char* kind = std::is_integral_v<Value>                 ? "int"
                                      : std::is_same_v<Value, std::string_view> ? "str"
                                                                                : "collections.abc.Sequence[int]";

  make_caster<Value> caster_;
  handle object_;
  bool is_right_ = false;
};
