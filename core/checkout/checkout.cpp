#include "core/checkout/checkout.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// The folder below src/ that has an ops/ of Python files.
std::string package_of(const fs::path& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "src", error)) {
    if (fs::is_regular_file(entry.path() / "ops" / "__init__.py", error)) {
      return entry.path().filename().string();
    }
  }
  return {};
}

// `version = "0.8.5"` of the [project] table; no TOML library for one line.
std::string version_of(const fs::path& root) {
  const auto text = read_file(root / "pyproject.toml");
  if (!text) return {};
  std::string table;
  for (const std::string& raw : split_lines(*text)) {
    const std::string line = trim(raw);
    if (!line.empty() && line.front() == '[') table = line;
    const auto equals = line.find('=');
    if (table != "[project]" || equals == std::string::npos) continue;
    if (trim(line.substr(0, equals)) != "version") continue;
    const std::string value = trim(line.substr(equals + 1));
    if (value.size() >= 2) return value.substr(1, value.find(value.front(), 1) - 1);
  }
  return {};
}

}  // namespace

fs::path Checkout::op_relative(const std::string& kernel) const {
  return fs::path("src") / package / "ops" / (kernel + ".py");
}

Result<Checkout> open_checkout(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is not a folder; give --checkout the root of a Liger-Kernel "
                            "checkout.",
                            root.string()));
  }
  Checkout checkout;
  checkout.root = fs::canonical(root, error);
  if (error) checkout.root = fs::absolute(root);
  checkout.package = package_of(checkout.root);
  if (checkout.package.empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is not a Liger-Kernel checkout: it has no src/<package>/ops; give "
                            "--checkout the root of one.",
                            root.string()));
  }
  if (!fs::is_directory(checkout.root / "benchmark" / "scripts", error)) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} has no benchmark/scripts; a source package or a clone of the "
                            "repository has them, an installed package does not.",
                            root.string()));
  }
  checkout.version = version_of(checkout.root);
  return checkout;
}

}  // namespace lwb
