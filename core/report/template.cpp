#include "core/report/template.h"

#include <fmt/format.h>
#include <md4c-html.h>

#include <QByteArray>
#include <QCoreApplication>
#include <cmath>
#include <cstdlib>
#include <kainjow/mustache.hpp>
#include <regex>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

using kainjow::mustache::data;
using kainjow::mustache::mustache;

data to_mustache(const Json& json) {
  if (json.is_object()) {
    data object(data::type::object);
    for (const auto& [key, value] : json.items()) object.set(key, to_mustache(value));
    return object;
  }
  if (json.is_array()) {
    data list(data::type::list);
    for (const Json& item : json) list.push_back(to_mustache(item));
    return list;
  }
  if (json.is_boolean()) return data(json.get<bool>() ? data::type::bool_true : data::type::bool_false);
  if (json.is_null()) return data(data::type::bool_false);
  if (json.is_string()) return data(json.get<std::string>());
  return data(json.dump());
}

// Strings that are empty count as absent in sections, so that {{^x}}none{{/x}} works for them.
Json without_empty(const Json& json) {
  if (json.is_string() && json.get_ref<const std::string&>().empty()) return nullptr;
  if (!json.is_structured()) return json;
  Json result = json;
  for (auto& [key, value] : result.items()) value = without_empty(value);
  return result;
}

void append(const char* text, MD_SIZE size, void* target) {
  static_cast<std::string*>(target)->append(text, size);
}

constexpr const char* kStyle =
    "body{font-family:system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
    "line-height:1.5;color:#1b1f24;background:#fff}table{border-collapse:collapse;margin:1rem 0}"
    "th,td{border:1px solid #d0d7de;padding:.25rem .6rem;text-align:left}"
    "td{font-variant-numeric:tabular-nums}th{background:#f6f8fa}pre{background:#f6f8fa;"
    "padding:.8rem;overflow:auto}code{font-family:ui-monospace,monospace}img{max-width:100%}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "th,pre{background:#161b22}th,td{border-color:#30363d}img{background:#fff}}";

std::string inline_images(const std::string& html, const fs::path& folder) {
  static const std::regex source("src=\"([^\":]+\\.(svg|png))\"");
  std::string result;
  auto from = html.begin();
  for (std::sregex_iterator it(html.begin(), html.end(), source), end; it != end; ++it) {
    result.append(from, (*it)[0].first);
    from = (*it)[0].second;
    const auto bytes = read_file(folder / (*it)[1].str());
    if (!bytes) {
      result += (*it)[0].str();
      continue;
    }
    const std::string type = (*it)[2] == "svg" ? "image/svg+xml" : "image/png";
    result += "src=\"data:" + type + ";base64," +
              QByteArray::fromRawData(bytes->data(), static_cast<qsizetype>(bytes->size()))
                  .toBase64()
                  .toStdString() +
              "\"";
  }
  return result.append(from, html.end());
}

}  // namespace

fs::path resource_root() {
  if (const char* set = std::getenv("LWB_RESOURCE_ROOT"); set != nullptr && *set != 0) return set;
  if (QCoreApplication::instance() != nullptr) {
    const fs::path beside =
        fs::path(QCoreApplication::applicationDirPath().toStdString()) / "../share/liger-workbench";
    if (fs::exists(beside / "templates")) return fs::weakly_canonical(beside);
  }
  return LWB_SOURCE_ROOT;
}

Result<std::string> render_text(const std::string& template_text, const Json& values,
                                const std::string& what) {
  mustache document(template_text);
  if (!document.is_valid()) {
    return fail(ErrorKind::kInternal,
                fmt::format("The template {} is malformed: {}.", what, document.error_message()));
  }
  document.set_custom_escape([](const std::string& text) { return text; });
  return document.render(to_mustache(without_empty(values)));
}

Result<std::string> render_template(const std::string& name, const Json& values) {
  const auto text = read_file(resource_root() / "templates" / name);
  if (!text) return tl::unexpected(text.error());
  return render_text(*text, values, name);
}

Result<std::string> markdown_to_html(const std::string& markdown, const std::string& title,
                                     const fs::path& folder) {
  std::string body;
  if (md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &body,
              MD_DIALECT_GITHUB, 0) != 0) {
    return fail(ErrorKind::kInternal, "The report could not be turned into HTML.");
  }
  return "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>" + title +
         "</title><style>" + kStyle + "</style><body>" + inline_images(body, folder) +
         "</body></html>\n";
}

}  // namespace lwb
