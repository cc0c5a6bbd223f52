#pragma once

// A made-up tree of the system's files.

#include "cg/base/system_files.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::test {

/// The files are written as "proc/stat", "sys/devices/...".
class SystemTree : public TemporaryFolder {
 public:
  SystemFolders folders() const { return {.proc = path("proc"), .sys = path("sys")}; }
};

}  // namespace cg2d::test
