// Changes of JSON that remain JSON: most changes of single bytes would end in the parser of the library.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t count, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;
using Random = std::minstd_rand;

void collect(Json& json, std::vector<Json*>& all) {
  all.push_back(&json);
  if (!json.is_structured()) return;
  for (auto& member : json) collect(member, all);
}

/// Values at the borders of what readers expect.
Json odd_value(Random& random) {
  static const std::array<Json, 22> values{nullptr,
                                           true,
                                           false,
                                           0,
                                           -1,
                                           1,
                                           2,
                                           1.5,
                                           1e-300,
                                           1e308,
                                           -0.0,
                                           2147483647,
                                           2147483648,
                                           -2147483649,
                                           std::int64_t{9223372036854775807},
                                           std::uint64_t{18446744073709551615U},
                                           "",
                                           "a\nb\x1b[31m",
                                           "auto",
                                           std::string(300, 'x'),
                                           Json::array(),
                                           Json::object()};
  return values.at(random() % values.size());
}

std::string mutated_text(std::string text) {
  const auto size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

void erase_one(Json& json, std::size_t index) {
  if (json.empty()) return;
  auto place = json.begin();
  std::advance(place, static_cast<std::ptrdiff_t>(index % json.size()));
  json.erase(place);
}

void mutate_one(Json& top, Random& random) {
  std::vector<Json*> all;
  collect(top, all);
  Json& json = *all[random() % all.size()];
  const Json copy = *all[random() % all.size()];
  switch (random() % 6) {
    case 0:
      if (json.is_structured()) return erase_one(json, random());
      break;
    case 1:
      if (json.is_array()) return json.push_back(copy);
      if (json.is_object()) return static_cast<void>(json[mutated_text("key")] = copy);
      break;
    case 2:
      if (json.is_string()) return static_cast<void>(json = mutated_text(json.get<std::string>()));
      break;
    case 3:
      json = copy;
      return;
    default:
      break;
  }
  json = odd_value(random);
}

/// All of the text where it is one value, or one of its lines.
struct Part {
  std::size_t begin = 0;
  std::size_t size = 0;
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

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t count, std::size_t most,
                                               unsigned seed) {
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
