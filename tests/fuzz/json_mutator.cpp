// JSON, or lines of it.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "fuzz/json_changes.hpp"

namespace {

using namespace cg2d::fuzz;

/// All of the text where it is one value, or one of its lines.
struct Part {
  size_t begin = 0;
  size_t size = 0;
  Json json = Json(Json::value_t::discarded);
};

Part chosen_part(std::string_view text, Random& random) {
  Part part{.begin = 0, .size = text.size(), .json = Json::parse(text, nullptr, false)};
  if (!part.json.is_discarded()) return part;
  const auto newline = text.rfind('\n', random() % (text.size() + 1));
  part.begin = newline == std::string_view::npos ? 0 : newline + 1;
  part.size = std::min(text.find('\n', part.begin), text.size()) - part.begin;
  part.json = Json::parse(text.substr(part.begin, part.size), nullptr, false);
  return part;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t most, unsigned seed) {
  Random random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(bytes, count, most);
  std::string text(bytes, bytes + count);
  auto [begin, size, json] = chosen_part(text, random);
  if (json.is_discarded()) return LLVMFuzzerMutate(bytes, count, most);
  for (auto left = 1 + random() % 3; left > 0; --left) mutate_one(json, random);
  text.replace(begin, size, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (text.size() > most) return LLVMFuzzerMutate(bytes, count, most);
  std::memcpy(bytes, text.data(), text.size());
  return text.size();
}
