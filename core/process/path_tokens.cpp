#include <algorithm>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/recording.h"

namespace lwb {
namespace {

bool continues_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

// Whether a path that ends at `end` ends a name there too: ".", "-" and "+" may be the end of a
// sentence or the middle of "liger-0.8.5".
bool ends_a_name(std::string_view text, std::size_t end) {
  if (end >= text.size()) return true;
  const char next = text[end];
  if (next == '.' || next == '-' || next == '+') {
    return end + 1 >= text.size() || !continues_a_name(text[end + 1]);
  }
  return !continues_a_name(next);
}

// Longest first; each path as it is and as JSON in ASCII writes it.
std::vector<std::pair<std::string, std::string>> spellings(const PathTokens& tokens) {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto [path, token] : tokens.path_to_token) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.size() < 2) continue;  // "/" is part of every path
    all.emplace_back(path, token);
    std::string escaped = Json(path).dump(-1, ' ', true, Json::error_handler_t::replace);
    escaped = escaped.substr(1, escaped.size() - 2);
    if (escaped != path) all.emplace_back(escaped, token);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return all;
}

}  // namespace

std::string PathTokens::tokenize(std::string text) const {
  for (const auto& [path, token] : spellings(*this)) {
    if (text.find(path) == std::string::npos) continue;
    std::string result;
    std::size_t begin = 0;
    for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
      const std::size_t end = at + path.size();
      if (ends_a_name(text, end)) {
        result.append(text, begin, at - begin).append(token);
        begin = end;
      }
      at = end;
    }
    text = result.append(text, begin);
  }
  return text;
}

std::string PathTokens::expand(std::string text) const {
  std::vector<std::string> done;
  for (auto [path, token] : path_to_token) {
    if (token.empty() || std::find(done.begin(), done.end(), token) != done.end()) continue;
    done.push_back(token);
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    text = replace_all(std::move(text), token, path);
  }
  return text;
}

}  // namespace lwb
