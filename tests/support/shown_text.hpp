#pragma once

// Texts for people, as tests read them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cg2d::test {

/// With one space for each run of them: columns of tables are as wide as their cells.
inline std::string squeezed(std::string text) {
  const auto end = std::unique(text.begin(), text.end(),
                               [](char left, char right) { return left == ' ' && right == ' '; });
  text.erase(end, text.end());
  return text;
}

inline void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(squeezed(text).find(squeezed(part)), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

}  // namespace cg2d::test
