#include "core/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace lwb {
namespace {

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what, ErrorKind kind) {
  if (trim(text).empty()) {
    return fail(kind, fmt::format("The {} is empty, where a JSON document is expected.", what));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const bool is_one_line = trim(text).find('\n') == std::string::npos;
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    return fail(kind,
                fmt::format("The {} is not valid JSON{}; correct it there.", what,
                            is_one_line ? "" : fmt::format(" at line {}", line)),
                error.what());
  } catch (const std::exception& error) {  // out of memory, a number out of range
    return fail(kind, fmt::format("The {} cannot be read as JSON ({}).", what, error.what()));
  }
}

std::string print_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string get_string(const Json& object, const char* key, std::string fallback) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::move(fallback);
}

double get_number(const Json& object, const char* key, double fallback) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : fallback;
}

long long get_integer(const Json& object, const char* key, long long fallback) {
  const Json* value = member(object, key);
  if (value == nullptr) return fallback;
  if (value->is_number_integer()) return value->get<long long>();
  if (!value->is_number_float()) return fallback;
  const double number = value->get<double>();
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53: whole doubles are exact up to here
  const bool whole = std::abs(number) <= kLargestExact && std::trunc(number) == number;
  return whole ? static_cast<long long>(number) : fallback;
}

bool get_bool(const Json& object, const char* key, bool fallback) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : fallback;
}

const Json& get_array(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const Json* value = member(object, key);
  return value != nullptr && value->is_array() ? *value : empty;
}

const Json& get_object(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const Json* value = member(object, key);
  return value != nullptr && value->is_object() ? *value : empty;
}

}  // namespace lwb
