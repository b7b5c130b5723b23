// Cells and captured calls (spec section 4): what is measured. The file calls.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/request/request.h"

namespace lwb {

struct Cell {
  std::string kernel_name;
  std::string provider;
  std::string mode;  // "full" unless the script has another
  std::string x_name;
  Json x;       // number or string
  Json config;  // object; dtypes as "torch.bfloat16"
};

// One call of the op's autograd.Function; the JSON is that of resources/python/README.md and is passed on as it is.
struct CapturedCall {
  std::string id;
  bool by_hand = false;
  Cell cell;
  Json json;
  bool replayable = true;
  std::string why_not;
};

struct CallsFile {
  int schema = 1;
  std::string kernel;
  std::vector<CapturedCall> calls;
  std::string sha256;  // of the file's text, where it was read from one
};

// kUsage with file and member when malformed.
Result<CallsFile> read_calls(const std::filesystem::path& file);
Result<CallsFile> calls_from_json(const Json& document, std::string_view what);
Json to_json(const CallsFile& calls);
Result<CapturedCall> call_from_json(const Json& call, std::string_view what);

// The calls whose cell meets every condition; a condition names x or a member of the configuration, or
// (for calls written by hand) a member of "labels". kUsage with the available names and values when
// none does; `what` is named in that sentence: "scope", "target".
Result<std::vector<std::string>> calls_in_scope(const CallsFile& calls,
                                                const std::vector<Condition>& conditions,
                                                const std::string& what = "scope");

}  // namespace lwb
