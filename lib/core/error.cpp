#include "quern/core/error.hpp"

#include <new>
#include <system_error>

namespace quern {
namespace {

/// Made in advance, since there may be no memory for its text later. Copies share the text.
const OutOfMemory out_of_memory("out of memory");

}  // namespace

void throw_translated_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw out_of_memory;
  } catch (const std::length_error&) {  // a vector or string too large for its type
    throw out_of_memory;
  } catch (const std::system_error& error) {
    throw IoError(error.what());
  } catch (const std::runtime_error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(std::string("unexpected error: ") + error.what());
  }
}

}  // namespace quern
