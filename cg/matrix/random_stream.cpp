#include "cg/matrix/random_stream.hpp"

namespace cg2d {

void RandomStream::jump(std::uint64_t count) {
  std::uint64_t power = multiplier;  // multiplier^(2^bit), wrapping modulo 2^64 keeps the low 46 bits right
  for (; count != 0; count >>= 1) {
    if ((count & 1) != 0) state_ = (state_ * power) & mask;
    power = (power * power) & mask;
  }
}

}  // namespace cg2d
