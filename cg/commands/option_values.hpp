#pragma once

// Validators of option values, and values that only the command line has.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "cg/base/values.hpp"
#include "cg/matrix/problem.hpp"

namespace cg2d {

/// A whole or finite decimal number. CLI11's own conversion does not say why it fails, takes an empty text
/// for a missing option, and reads 010 as 8.
template <typename Number>
CLI::Validator decimal() {
  return {[](std::string& text) {
            const auto value = number_from<Number>(text);
            if constexpr (std::is_integral_v<Number>) {
              if (!value)
                return fmt::format("\"{}\" is not a whole number up to {}", text,
                                   std::numeric_limits<Number>::max());
            } else {
              if (!value || !std::isfinite(*value)) return fmt::format("\"{}\" is not a finite number", text);
            }
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

/// A size such as "8GB" or "512MiB".
CLI::Validator byte_count();
/// Any text but the empty one.
CLI::Validator file_name();

/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);

}  // namespace cg2d
