#pragma once

#include "comm/interface.hpp"

namespace cg2d {

using comm::Interface;

}  // namespace cg2d
