#pragma once
// What an error says.

#include <string>

namespace support {

/// The words of an E, which is thrown and of no other kind; empty where nothing is thrown.
template <class E, class F>
std::string words(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace support
