// JSON: nlohmann's type under our name, and parsing and printing that return instead of throwing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lwb {

// Keys keep their order of insertion, so that files we write read as they were meant.
using Json = nlohmann::ordered_json;

// Parses `text`; `what` names it in the error sentence ("calls file /x/calls.json").
Result<Json> parse_json(std::string_view text, std::string_view what,
                        ErrorKind kind = ErrorKind::kInternal);

// One line, or indented by `indent` spaces. Never throws: bytes that are not UTF-8 (a child's
// output may hold any) become U+FFFD, NaN and infinities become null.
std::string print_json(const Json& value, int indent = -1);

// Member access that never throws: the value, or `fallback` when absent, null or of another type.
std::string get_string(const Json& object, const char* key, std::string fallback = {});
double get_number(const Json& object, const char* key, double fallback = 0);
// Also takes a number written with a fraction when it is a whole one (8192.0).
long long get_integer(const Json& object, const char* key, long long fallback = 0);
bool get_bool(const Json& object, const char* key, bool fallback = false);
const Json& get_array(const Json& object, const char* key);   // an empty array when absent
const Json& get_object(const Json& object, const char* key);  // an empty object when absent

}  // namespace lwb
