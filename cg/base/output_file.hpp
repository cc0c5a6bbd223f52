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
  /// Throws RunError (cannot_create) when the file can't be made, so that a run fails before it computes for
  /// hours, not after.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Throws RunError (cannot_write).
  void write(std::string_view text);
  /// After this call the file is complete on disk under its final name. Throws RunError (cannot_write).
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string temporary_path_;  // empty: written directly
  std::FILE* file_ = nullptr;
};

/// Returns the text that `make` makes of results, locally. Any exception of `make` other than RunError and
/// std::bad_alloc is a defect, and thrown as RunError (internal), so that every rank learns the reason.
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
