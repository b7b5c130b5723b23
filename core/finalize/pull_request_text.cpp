// The text of a pull request from the checkout's own template, and the commands that send it.

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/finalize/pull_request.h"

namespace lwb {
namespace {

constexpr std::uintmax_t kLargestTemplate = 1 << 20;
constexpr const char* kNoTemplate = "## Summary\n\n## Testing Done\n\n- Hardware Type: <BLANK>\n";

bool is_heading(const std::string& line) {
  const std::size_t marks = line.find_first_not_of('#');
  return marks != std::string::npos && marks > 0 && marks <= 6 && line[marks] == ' ';
}

bool is_heading_of(const std::string& line, std::initializer_list<const char*> words) {
  if (!is_heading(line)) return false;
  const std::string lower = to_lower(line);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return lower.find(word) != std::string::npos; });
}

bool is_blank(const std::string& line) {
  return trim(line).empty();
}

bool is_fence(const std::string& line) {
  const std::string plain = trim(line);
  return plain.starts_with("```") || plain.starts_with("~~~");
}

// A section that the template offers inside a comment: its heading stays where there is text for
// it.
std::string heading_in_comment(const std::string& comment) {
  for (const std::string& line : split_lines(comment)) {
    if (is_heading_of(line, {"detail"})) return trim(line) + "\n";
  }
  return {};
}

std::string without_comments(const std::string& text, bool keep_details) {
  std::string kept;
  std::size_t at = 0;
  for (std::size_t begin; (begin = text.find("<!--", at)) != std::string::npos;) {
    kept.append(text, at, begin - at);
    std::size_t end = text.find("-->", begin + 4);
    const std::string comment = text.substr(begin, end == std::string::npos ? end : end - begin);
    if (keep_details) kept += heading_in_comment(comment);
    if (end == std::string::npos) return kept;  // as it is shown: hidden to the end
    at = end + 3;
  }
  return kept.append(text, at);
}

// Lines without blanks at their ends, and no two blank lines in a row.
std::vector<std::string> tidy_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string line : split_lines(text)) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
    if (line.empty() && (lines.empty() || lines.back().empty())) continue;
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Position of the first heading with one of the words; headings in code fences do not count.
std::size_t find_heading(const std::vector<std::string>& lines,
                         std::initializer_list<const char*> words) {
  bool fenced = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_fence(lines[i])) fenced = !fenced;
    if (!fenced && is_heading_of(lines[i], words)) return i;
  }
  return lines.size();
}

// Line of the next heading after `start`, or the end.
std::size_t section_end(const std::vector<std::string>& lines, std::size_t start) {
  bool fenced = false;
  for (std::size_t i = start + 1; i < lines.size(); ++i) {
    if (is_fence(lines[i])) fenced = !fenced;
    if (!fenced && is_heading(lines[i])) return i;
  }
  return lines.size();
}

// Puts `text` between blank lines before line `at`.
void insert_text(std::vector<std::string>& lines, std::size_t at, const std::string& text) {
  std::vector<std::string> block = split_lines(trim(text));
  if (block.empty()) return;
  if (at > 0 && !is_blank(lines[at - 1])) block.insert(block.begin(), "");
  if (at < lines.size() && !is_blank(lines[at])) block.emplace_back("");
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), block.begin(), block.end());
}

void fill_section(std::vector<std::string>& lines, std::initializer_list<const char*> words,
                  const std::string& heading, std::size_t missing_at, const std::string& text) {
  std::size_t at = find_heading(lines, words);
  if (at == lines.size()) {
    at = std::min(missing_at, lines.size());
    insert_text(lines, at, heading);
    at = find_heading(lines, words);
  }
  insert_text(lines, at + 1, text);
}

bool is_hardware_line(const std::string& line) {
  static const std::regex pattern(R"(^\s*([-*+]\s+)?[*_]*hardware( type)?[*_]*\s*:)",
                                  std::regex::icase);
  return std::regex_search(line, pattern);
}

// Sets the first hardware line, or adds one at the end of the testing section.
void fill_hardware(std::vector<std::string>& lines, const std::string& hardware) {
  const std::string name = hardware.empty() ? "not stated" : hardware;
  for (std::string& line : lines) {
    if (!is_hardware_line(line)) continue;
    const std::size_t colon = line.find(':');
    const std::string end = line[colon + 1] == '*' ? "**" : "";  // "**Hardware Type:** x"
    line = line.substr(0, colon + 1) + end + " " + name;
    return;
  }
  const std::size_t heading = find_heading(lines, {"test"});
  std::size_t at = section_end(lines, heading);
  while (at > heading + 1 && is_blank(lines[at - 1])) --at;
  insert_text(lines, at, "- Hardware Type: " + name);
}

// Whether a box's line names only commands that were run, and at least one.
bool was_run(const std::string& line, const std::vector<std::string>& really_run) {
  const auto is_run = [&](const std::string& command) {
    return std::find(really_run.begin(), really_run.end(), trim(command)) != really_run.end();
  };
  const auto parts = split(line, '`');
  if (parts.size() >= 3) {
    bool any = false;
    for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
      if (!is_run(parts[i])) return false;
      any = true;
    }
    return any;
  }
  return std::any_of(really_run.begin(), really_run.end(), [&](const std::string& command) {
    const std::size_t at = command.empty() ? std::string::npos : line.find(command);
    if (at == std::string::npos) return false;
    const std::size_t end = at + command.size();
    const char next = end < line.size() ? line[end] : ' ';
    return std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '-' && next != '_';
  });
}

void tick_boxes(std::vector<std::string>& lines, const std::vector<std::string>& really_run) {
  static const std::regex box(R"(^(\s*(?:[-*+]|\d+[.)])\s+\[)([ xX])(\].*)$)");
  for (std::string& line : lines) {
    std::smatch match;
    if (!std::regex_match(line, match, box)) continue;
    const std::string before = match[1], after = match[3];
    line = before + (was_run(after, really_run) ? "x" : " ") + after;
  }
}

std::string shell_quote(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:=@%+,-").find(c) != std::string_view::npos;
  });
  return plain ? text : "'" + replace_all(text, "'", "'\\''") + "'";
}

bool is_template_name(const fs::path& file) {
  const std::string name = to_lower(file.filename().string());
  return name == "pull_request_template.md" || name == "pull_request_template.txt" ||
         name == "pull_request_template";
}

// Of a folder, in the order of names: one that carries the name, else the only one of the folder
// PULL_REQUEST_TEMPLATE (of several GitHub takes none by itself).
std::string template_in(const fs::path& folder) {
  std::vector<fs::path> files, choices;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_template_name(entry.path())) continue;
    if (entry.is_regular_file(error) && entry.file_size(error) <= kLargestTemplate) {
      files.push_back(entry.path());
    } else if (entry.is_directory(error)) {
      for (const auto& choice : fs::directory_iterator(entry.path(), error)) {
        if (choice.path().extension() == ".md") choices.push_back(choice.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty() && choices.size() == 1) files = choices;
  return files.empty() ? std::string() : read_file(files.front()).value_or("");
}

}  // namespace

std::string find_pull_request_template(const fs::path& checkout) {
  for (const fs::path& folder : {checkout / ".github", checkout, checkout / "docs"}) {
    if (std::string text = template_in(folder); !text.empty()) return text;
  }
  return {};
}

std::string pull_request_text(const std::string& template_text, const std::string& summary,
                              const std::string& details, const std::string& testing,
                              const std::string& hardware,
                              const std::vector<std::string>& really_run) {
  std::string source = template_text;
  if (trim(source).empty()) {
    source = kNoTemplate;
    for (const std::string& command : really_run) {
      source += fmt::format("- [ ] run `{}`\n", command);
    }
  }
  std::vector<std::string> lines = tidy_lines(without_comments(source, !trim(details).empty()));
  // The template's own lines first: a box in the text that comes in is not the template's.
  tick_boxes(lines, really_run);
  if (find_heading(lines, {"test"}) == lines.size()) {
    insert_text(lines, lines.size(), "## Testing Done");
  }
  fill_hardware(lines, hardware);
  fill_section(lines, {"test"}, "## Testing Done", lines.size(), testing);
  const auto summary_words = {"summary", "description"};
  if (find_heading(lines, summary_words) == lines.size()) insert_text(lines, 0, "## Summary");
  if (!trim(details).empty()) {
    fill_section(lines, {"detail"}, "## Details",
                 section_end(lines, find_heading(lines, summary_words)), details);
  }
  fill_section(lines, summary_words, "## Summary", 0, summary);
  return join(lines, "\n") + "\n";
}

std::vector<std::string> send_commands(const fs::path& checkout, const std::string& branch,
                                       const std::string& title, const fs::path& text_file,
                                       const SendTarget& target) {
  const std::string folder = shell_quote(checkout.string());
  const std::string remote = target.remote.empty() ? "origin" : target.remote;
  const std::string head = target.owner.empty() ? branch : target.owner + ":" + branch;
  return {fmt::format("git -C {} push {} {}", folder, shell_quote(remote), shell_quote(branch)),
          fmt::format("cd {} && gh pr create --head {} --title {} --body-file {}", folder,
                      shell_quote(head), shell_quote(title), shell_quote(text_file.string()))};
}

}  // namespace lwb
