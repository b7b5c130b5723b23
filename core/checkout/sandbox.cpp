#include "core/checkout/sandbox.h"

#include <fmt/format.h>

#include "core/base/files.h"

namespace lwb {
namespace {

constexpr std::uintmax_t kLargestFile = 2 << 20;  // larger ones are data, not source

bool skip_in_package(const fs::path& relative) {
  const fs::path name = relative.filename();
  return name == "__pycache__" || name.extension() == ".pyc" || name == ".git";
}

// What no child needs: data of earlier benchmarks and test resources, caches, version control.
bool skip_in_tree(const fs::path& relative) {
  return skip_in_package(relative) || relative == "data" || relative == "resources" ||
         relative.filename() == ".pytest_cache";
}

// importlib.metadata asks for the distribution (benchmark utils do) although nothing is installed.
Result<void> write_metadata(const Checkout& checkout, const fs::path& src) {
  const std::string version = checkout.version.empty() ? "0" : checkout.version;
  const fs::path folder = src / fmt::format("{}-{}.dist-info", checkout.package, version);
  std::string name = checkout.package;
  for (char& c : name) c = c == '_' ? '-' : c;
  return write_file_atomically(
      folder / "METADATA",
      fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", name, version));
}

Result<void> copy_small_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    if (!entry.is_regular_file() || entry.file_size() > kLargestFile) continue;
    fs::copy_file(entry.path(), to / entry.path().filename(),
                  fs::copy_options::overwrite_existing, error);
    if (error) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("{} cannot be copied into the sandbox {} ({}); free disk space or "
                              "name another --work-area.",
                              entry.path().string(), to.string(), error.message()));
    }
  }
  return {};
}

}  // namespace

Result<Sandbox> Sandbox::create(const Checkout& checkout, const fs::path& area,
                                const std::string& purpose) {
  Sandbox sandbox;
  sandbox.checkout_ = checkout;
  sandbox.folder_ = area / purpose;
  sandbox.tree_ = sandbox.folder_ / "tree";
  std::error_code error;
  fs::remove_all(sandbox.folder_, error);
  fs::create_directories(sandbox.tree_ / "benchmark" / "data", error);
  if (error) {
    return fail(ErrorKind::kPreflight,
                fmt::format("The sandbox {} cannot be created ({}); name another --work-area.",
                            sandbox.tree_.string(), error.message()));
  }
  if (auto copied = copy_tree(checkout.src(), sandbox.tree_ / "src", skip_in_package); !copied) {
    return tl::unexpected(copied.error());
  }
  for (const char* folder : {"benchmark", "test", ".github"}) {
    if (!fs::is_directory(checkout.root / folder)) continue;
    if (auto copied = copy_tree(checkout.root / folder, sandbox.tree_ / folder, skip_in_tree);
        !copied) {
      return tl::unexpected(copied.error());
    }
  }
  if (auto copied = copy_small_files(checkout.root, sandbox.tree_); !copied) {
    return tl::unexpected(copied.error());
  }
  if (auto written = write_metadata(checkout, sandbox.tree_ / "src"); !written) {
    return tl::unexpected(written.error());
  }
  return sandbox;
}

Result<PackageSide> Sandbox::add_side(const std::string& name, const std::string& kernel,
                                      const std::string& text) const {
  PackageSide side;
  side.name = name;
  side.src = folder_ / "sides" / name / "src";
  side.module = checkout_.op_module(kernel);
  side.file = side.src / checkout_.package / "ops" / (kernel + ".py");
  side.sha256 = sha256_hex(text);
  std::error_code error;
  fs::remove_all(side.src.parent_path(), error);
  if (auto copied = copy_tree(checkout_.src(), side.src, skip_in_package); !copied) {
    return tl::unexpected(copied.error());
  }
  if (auto written = write_metadata(checkout_, side.src); !written) {
    return tl::unexpected(written.error());
  }
  if (auto written = write_file_atomically(side.file, text); !written) {
    return tl::unexpected(written.error());
  }
  return side;
}

Result<void> Sandbox::put_kernel(const std::string& kernel, const std::string& text) const {
  return write_file_atomically(tree_ / checkout_.op_relative(kernel), text);
}

void Sandbox::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace lwb
