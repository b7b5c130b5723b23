// Documents from templates/: Mustache files filled from JSON. And the resources of the program.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

// The folder that holds resources/ and templates/: LWB_RESOURCE_ROOT, else ../share/liger-workbench
// beside the program, else the source folder that the program was built from.
std::filesystem::path resource_root();

// Fills `templates/<name>` from `data`: {{x}} as it stands (Markdown, nothing is escaped), {{#list}}…{{/list}}, {{^absent}}…{{/absent}}.
// Numbers should be given formatted: a template prints, it does not compute.
Result<std::string> render_template(const std::string& name, const Json& data);
Result<std::string> render_text(const std::string& template_text, const Json& data,
                                const std::string& what);

// One self-contained page: the Markdown (GitHub's dialect), images of `folder` inlined.
Result<std::string> markdown_to_html(const std::string& markdown, const std::string& title,
                                     const std::filesystem::path& folder);

}  // namespace lwb
