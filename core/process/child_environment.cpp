#include "core/process/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/text.h"

namespace lwb {
namespace {

// Kept by exact name.
constexpr std::array kKept = {"PATH",
                              "HOME",
                              "LANG",
                              "LANGUAGE",
                              "USER",
                              "LOGNAME",
                              "SHELL",
                              "TERM",
                              "TZ",
                              "HTTP_PROXY",
                              "HTTPS_PROXY",
                              "NO_PROXY",
                              "ALL_PROXY",
                              "FTP_PROXY",
                              "CUDA_HOME",
                              "CUDA_PATH",
                              "VIRTUAL_ENV",
                              "CC",
                              "CXX",
                              "LD_LIBRARY_PATH",
                              "TRITON_INTERPRET",
                              "SSH_AUTH_SOCK",
                              "GH_TOKEN",
                              "GITHUB_TOKEN",
                              "GH_HOST",
                              "GH_CONFIG_DIR",
                              "XDG_CONFIG_HOME",
                              "XDG_CACHE_HOME",
                              "SSL_CERT_FILE",
                              "SSL_CERT_DIR",
                              "DBUS_SESSION_BUS_ADDRESS",
                              "XDG_RUNTIME_DIR",
                              "GIT_SSH_COMMAND",
                              "GIT_CONFIG_GLOBAL",
                              "CUDA_VISIBLE_DEVICES"};

// Kept by the beginning of the name.
constexpr std::array kKeptPrefixes = {"LC_",       "HF_",         "CONDA_",
                                      "LWB_TEST_", "GIT_AUTHOR_", "GIT_COMMITTER_"};

bool is_kept(const std::string& name) {
  std::string upper = name;  // proxies are written in small letters as often as in capitals
  if (to_lower(name).ends_with("_proxy")) {
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
  if (std::find(kKept.begin(), kKept.end(), upper) != kKept.end()) return true;
  return std::any_of(kKeptPrefixes.begin(), kKeptPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

const std::string* find(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

// The parts of a search path that do not lie in the mounted image of an AppImage: its libraries
// must not reach the user's Python (field-notes C24). Nothing is left of an image's own list.
std::string without_image(const std::string& search_path, const Environment& own) {
  const std::string* image = find(own, "APPDIR");
  std::vector<std::string> kept;
  for (const std::string& part : split(search_path, ':')) {
    const bool in_image = image != nullptr && (part == *image || part.starts_with(*image + "/"));
    const bool in_mount = part.starts_with("/tmp/.mount_");  // where AppImages mount themselves
    if (!part.empty() && !in_image && !in_mount) kept.push_back(part);
  }
  return join(kept, ":");
}

}  // namespace

Environment child_environment(const ChildEnvironmentFacts& facts, const Environment& own) {
  Environment child;
  for (const auto& [name, value] : own) {
    if (!is_kept(name)) continue;
    if (name == "LD_LIBRARY_PATH" || name == "PATH") {
      const std::string cleaned = without_image(value, own);
      if (!cleaned.empty()) child[name] = cleaned;
    } else {
      child[name] = value;
    }
  }
  if (find(child, "PATH") == nullptr) child["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  // Numbers with a point and UTF-8 whatever the terminal was set to.
  if (find(child, "LANG") == nullptr && find(child, "LC_ALL") == nullptr) child["LANG"] = "C.UTF-8";

  if (!facts.python_path.empty()) child["PYTHONPATH"] = join(facts.python_path, ":");
  child["PYTHONUNBUFFERED"] = "1";
  child["PYTHONDONTWRITEBYTECODE"] = "1";
  child["PYTHONIOENCODING"] = "utf-8";
  child["PYTHONFAULTHANDLER"] = "1";  // a crash leaves its Python stack on standard error
  child["MPLBACKEND"] = "Agg";
  child["LIGER_KERNEL_BACKEND"] = "nvidia-triton";
  child["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  if (!facts.gpu_uuid.empty()) child["CUDA_VISIBLE_DEVICES"] = facts.gpu_uuid;
  child["GH_PROMPT_DISABLED"] = "1";
  child["GIT_TERMINAL_PROMPT"] = "0";
  child["HF_HUB_OFFLINE"] = "1";
  if (!facts.triton_cache.empty()) child["TRITON_CACHE_DIR"] = facts.triton_cache;
  if (!facts.tmp.empty()) child["TMPDIR"] = facts.tmp;
  return child;
}

Environment own_environment() {
  Environment own;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    own.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return own;
}

}  // namespace lwb
