#include "cg/base/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cg2d {

namespace {

constexpr std::array<std::pair<ExitCode, std::string_view>, 16> code_names{
    {{ExitCode::success, "success"},
     {ExitCode::regression, "regression"},
     {ExitCode::undecided, "undecided"},
     {ExitCode::usage, "usage-error"},
     {ExitCode::bad_data, "bad-data"},
     {ExitCode::unavailable, "unavailable"},
     {ExitCode::internal, "internal-error"},
     {ExitCode::memory, "not-enough-memory"},
     {ExitCode::cannot_create, "cannot-create-output"},
     {ExitCode::cannot_write, "cannot-write-output"},
     {ExitCode::interrupted, "interrupted"},
     {ExitCode::not_positive_definite, "not-positive-definite"},
     {ExitCode::not_converged, "not-converged"},
     {ExitCode::verification_failed, "verification-failed"},
     {ExitCode::soft_error, "soft-error"},
     {ExitCode::not_finite, "not-finite"}}};

}  // namespace

std::string_view status_name(ExitCode code) {
  return std::ranges::find(code_names, code, &std::pair<ExitCode, std::string_view>::first)->second;
}

bool is_exit_code(int code) {
  return std::ranges::any_of(code_names,
                             [&](const auto& row) { return static_cast<int>(row.first) == code; });
}

}  // namespace cg2d
