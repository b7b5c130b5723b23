// Which architecture a sentence means: by name, by card, by compute capability.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/request/words.h"

namespace lwb::sentence {
namespace {

// Compute capabilities of cards: https://developer.nvidia.com/cuda-gpus. Cards that share a name
// over two generations ("RTX 6000") are left out: they are said to be not understood.
const std::map<std::string, double>& capabilities() {
  static const std::map<std::string, double> table = {
      {"ampere", 8.0}, {"ada", 8.9},    {"lovelace", 8.9}, {"hopper", 9.0}, {"blackwell", 10.0},
      {"volta", 7.0},  {"turing", 7.5}, {"pascal", 6.0},   {"a100", 8.0},   {"a800", 8.0},
      {"a30", 8.0},    {"a40", 8.6},    {"a10", 8.6},      {"a10g", 8.6},   {"a16", 8.6},
      {"a6000", 8.6},  {"a5000", 8.6},  {"a4000", 8.6},    {"orin", 8.7},   {"l4", 8.9},
      {"l40", 8.9},    {"l40s", 8.9},   {"l20", 8.9},      {"h100", 9.0},   {"h200", 9.0},
      {"h800", 9.0},   {"h20", 9.0},    {"gh200", 9.0},    {"b100", 10.0},  {"b200", 10.0},
      {"gb200", 10.0}, {"b300", 10.3},  {"gb300", 10.3},   {"gb10", 12.1},  {"v100", 7.0},
      {"p100", 6.0},   {"t4", 7.5}};
  return table;
}

// "3090", "4090", "5080ti": the generation of a GeForce card is in its number.
std::optional<double> geforce(const std::string& word) {
  const auto number = grammar::number_of(word);
  if (!number || (number->unit != "" && number->unit != "ti" && number->unit != "d")) {
    return std::nullopt;
  }
  const int value = static_cast<int>(number->value);
  if (value != number->value || value % 10 != 0 || value % 100 < 50) return std::nullopt;
  if (value / 100 == 30) return 8.6;
  if (value / 100 == 40) return 8.9;
  if (value / 100 == 50) return 12.0;
  if (value / 100 == 20) return 7.5;
  return std::nullopt;
}

struct Found {
  double capability = 0;  // 0: auto
  std::size_t end = 0;
};

// "sm_90", "sm90a", "SM 9.0", "compute capability 8.6".
std::optional<Found> capability_at(const Reading& reading, std::size_t i) {
  const auto from_number = [](const std::string& word) -> std::optional<double> {
    const auto number = grammar::number_of(word);
    if (!number || (number->unit != "" && number->unit != "a" && number->unit != "f" &&
                    number->unit != ".x")) {
      return std::nullopt;
    }
    const bool dotted = word.find('.') != std::string::npos || number->value < 20;
    return dotted ? number->value : number->value / 10;
  };
  const std::string& plain = reading.free(i) ? reading.words[i].plain : reading.lower(i);
  if (plain.size() > 2 && plain.compare(0, 2, "sm") == 0) {
    if (const auto value = from_number(plain.substr(2))) return Found{*value, i + 1};
  }
  std::size_t next = i;
  if (reading.is(i, {"sm", "cc"})) next = i + 1;
  if (const std::size_t length = reading.phrase(i, "compute capability")) next = i + length;
  if (next == i) return std::nullopt;
  const auto value = from_number(reading.lower(next));
  if (!value) return std::nullopt;
  // "SM 8.x" ends in a separator and a letter.
  const bool any = next + 2 < reading.size() && reading.words[next + 1].text == "." &&
                   reading.words[next + 2].lower == "x";
  return Found{*value, any ? next + 3 : next + 1};
}

std::optional<Found> gpu_at(const Reading& reading, std::size_t i) {
  if (const auto found = capability_at(reading, i)) return found;
  for (const char* words : {"auto detect", "autodetect", "auto", "this gpu", "current gpu",
                            "whatever gpu", "available gpu", "any gpu"}) {
    if (const std::size_t length = reading.phrase(i, words)) return Found{0, i + length};
  }
  const auto card = [&](const std::string& word) -> std::optional<double> {
    auto found = capabilities().find(word);
    if (found == capabilities().end() && word.size() > 2 && word.back() == 's') {
      found = capabilities().find(word.substr(0, word.size() - 1));  // "our H200s"
    }
    if (found == capabilities().end()) return std::nullopt;
    return found->second;
  };
  if (reading.is(i, {"rtx", "geforce", "gtx"})) {
    std::size_t next = i + 1;
    if (reading.is(next, {"rtx", "gtx"})) ++next;
    const std::size_t end = reading.is(next + 1, {"ti", "super"}) ? next + 2 : next + 1;
    if (const auto value = geforce(reading.lower(next))) return Found{*value, end};
    if (const auto value = card(reading.lower(next))) return Found{*value, next + 1};
    if (reading.phrase(next, "pro 6000") > 0) return Found{12.0, next + 2};
    if (reading.phrase(next, "6000 ada") > 0) return Found{8.9, next + 2};
    return std::nullopt;
  }
  std::string word = reading.lower(i);
  if (word.compare(0, 3, "rtx") == 0) {
    if (const auto value = geforce(word.substr(3))) return Found{*value, i + 1};
  }
  if (const auto value = card(word)) {
    return Found{*value, reading.is(i + 1, {"lovelace"}) ? i + 2 : i + 1};
  }
  // "on my 4090": a bare number is a card only right after such a word.
  if (i > 1 && reading.is(i - 1, {"a", "an", "my", "the", "our"}) &&
      reading.is(i - 2, {"on", "for"})) {
    const bool card_like = reading.is(i + 1, {"tokens", "rows"}) == false;
    if (const auto value = geforce(word); value && card_like) return Found{*value, i + 1};
  }
  return std::nullopt;
}

std::optional<TargetGpu> architecture_of(double capability) {
  if (capability == 0) return TargetGpu::kAuto;
  switch (static_cast<int>(std::floor(capability))) {
    case 8:
      return TargetGpu::kAmpere;  // Ada (8.9) too: spec section 1 counts all of SM 8.x
    case 9:
      return TargetGpu::kHopper;
    case 10:
    case 12:
      return TargetGpu::kBlackwell;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<void> read_gpu(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    for (const char* other :
         {"amd", "mi300", "mi300x", "mi250", "rocm", "intel", "tpu", "xpu", "npu", "ascend"}) {
      if (!reading.is(i, {other})) continue;
      return fail(ErrorKind::kUsage,
                  fmt::format("The sentence asks for \"{}\", but only NVIDIA GPUs are supported: "
                              "auto, ampere, hopper or blackwell.",
                              reading.words[i].text));
    }
    const auto found = gpu_at(reading, i);
    if (!found) continue;
    const auto gpu = architecture_of(found->capability);
    if (!gpu) {
      return fail(ErrorKind::kUsage,
                  fmt::format("The sentence asks for \"{}\" (SM {:.1f}), which is none of ampere "
                              "(SM 8.x), hopper (SM 9.0) and blackwell (SM 10.x, 12.x).",
                              reading.text(i, found->end), found->capability));
    }
    if (auto noted = note(reading, "target_gpu", to_string(*gpu), i, found->end); !noted) {
      return noted;
    }
    reading.parsed.request.gpu = *gpu;
  }
  return {};
}

}  // namespace lwb::sentence
