#include "cg/base/errors.hpp"

namespace cg2d {

std::string_view status_name(ExitCode code) {
  switch (code) {
    case ExitCode::success:
      return "success";
    case ExitCode::regression:
      return "regression";
    case ExitCode::usage:
      return "usage-error";
    case ExitCode::unavailable:
      return "unavailable";
    case ExitCode::internal:
      return "internal-error";
    case ExitCode::memory:
      return "not-enough-memory";
    case ExitCode::cannot_create:
      return "cannot-create-output";
    case ExitCode::cannot_write:
      return "cannot-write-output";
    case ExitCode::interrupted:
      return "interrupted";
    case ExitCode::verification_failed:
      return "verification-failed";
    case ExitCode::not_finite:
      return "not-finite";
  }
  return "internal-error";
}

}  // namespace cg2d
