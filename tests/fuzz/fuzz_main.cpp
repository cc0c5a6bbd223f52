// The function that libFuzzer calls for each input; its main() is in the library.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  static_cast<void>(cg2d::fuzz::CG2D_TAKE_INPUT({reinterpret_cast<const char*>(bytes), count}));
  return 0;
}
