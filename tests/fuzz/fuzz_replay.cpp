// Gives kept inputs to a fuzz target, without libFuzzer: with any compiler, and as a test.
//
//     fuzz_replay TARGET FILE|FOLDER...
//
// Prints one line: how many inputs there were, and how many of them were accepted. Names that begin with "good-" must be
// accepted, those that begin with "bad-" refused.

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets.hpp"

namespace {

namespace fs = std::filesystem;

struct Target {
  std::string_view name;
  bool (*take)(std::string_view input);
};

constexpr std::array targets{
#define CG2D_FUZZ_TARGET(name) Target{#name, &cg2d::fuzz::take_##name},
#include "fuzz_targets.inc"
#undef CG2D_FUZZ_TARGET
};

std::vector<fs::path> files_of(const std::vector<std::string>& places) {
  std::vector<fs::path> files;
  for (const auto& place : places) {
    if (!fs::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(place)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

int replay(const Target& target, const std::vector<fs::path>& files) {
  size_t accepted_count = 0;
  int code = files.empty() ? 1 : 0;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "fuzz_replay: cannot read %s\n", file.c_str());
      return 66;
    }
    const std::string input{std::istreambuf_iterator<char>(stream), {}};
    // Written first: a broken promise ends the process.
    std::fprintf(stderr, "%s\n", file.c_str());
    const bool is_accepted = target.take(input);
    if (is_accepted) ++accepted_count;
    const auto name = file.filename().string();
    if (name.starts_with(is_accepted ? "bad-" : "good-")) {
      std::fprintf(stderr, "fuzz_replay: %s was %s\n", file.c_str(), is_accepted ? "accepted" : "refused");
      code = 1;
    }
  }
  std::printf("%s: %zu inputs, %zu accepted\n", target.name.data(), files.size(), accepted_count);
  return code;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + argument_count);
  const auto* const target =
      words.empty() ? targets.end() : std::ranges::find(targets, words.front(), &Target::name);
  if (words.size() < 2 || target == targets.end()) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FILE|FOLDER...; targets:");
    for (const auto& known : targets) std::fprintf(stderr, " %s", known.name.data());
    std::fprintf(stderr, "\n");
    return 64;
  }
  return replay(*target, files_of({words.begin() + 1, words.end()}));
}
