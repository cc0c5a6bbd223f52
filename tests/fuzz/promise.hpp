#pragma once

// The promises that every fuzz target checks. A broken one ends the process, which libFuzzer and the replay report.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cg/base/errors.hpp"

namespace cg2d::fuzz {

/// Ends the process unless the promise holds.
inline void promise(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

/// Messages for users: one line, without control characters, not empty, and not as long as the input.
inline void promise_one_line(std::string_view message) {
  promise(!message.empty(), "an error has a message");
  promise(message.size() <= most_message_bytes, "an error has a bounded length");
  promise(one_line(message) == message, "an error is one line without control characters");
}

/// Runs a parser that may refuse its input with Error. Returns whether it has accepted it; any other exception
/// ends the process.
template <typename Error, typename Parse>
bool accepts(const Parse& parse) {
  try {
    parse();
    return true;
  } catch (const Error& error) {
    promise_one_line(error.what());
    return false;
  }
}

/// The text of an accepted document is read, and written again alike.
template <typename Parse, typename Format, typename Document>
void promise_read_back(const Parse& parse, const Format& format, const Document& document) {
  const std::string text = format(document);
  try {
    promise(format(parse(text)) == text, "an accepted document can be written and read back");
  } catch (const InputError& error) {
    promise(false, std::string("what cg2d has written is read back, not refused: ") + error.what());
  }
}

}  // namespace cg2d::fuzz
