#pragma once

// A file that is written whole or not at all.

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "cg/base/errors.hpp"

namespace cg2d {

/// Writes to a temporary file beside the target and renames it over the target in commit(); without commit()
/// nothing remains. A target that is no regular file (a pipe, a device) is written directly; an empty path is
/// standard output.
class OutputFile {
 public:
  /// Throws RunError (cannot_create) when the file can't be made, so that a run fails before its hours, not
  /// behind them.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Throws RunError (cannot_write).
  void write(std::string_view text);
  /// Everything is on disk and under its name, or RunError (cannot_write) is thrown.
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_path_;  // empty: written directly
  std::FILE* file_ = nullptr;
};

/// The text that `make` makes of results, locally. What goes wrong within, other than RunError and
/// std::bad_alloc, is a defect, and thrown as RunError (internal): every rank then learns why there is none.
template <typename Make>
std::invoke_result_t<Make> rendered(const Make& make) {
  try {
    return make();
  } catch (const RunError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw RunError(ExitCode::internal,
                   std::string("defect of cg2d: the results cannot be written as text: ") + error.what());
  }
}

}  // namespace cg2d
