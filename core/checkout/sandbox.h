// Sandbox copies of the checkout: children import from them and may write into them; the user's tree
// is never used for experiments (spec section 9).
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/checkout/checkout.h"

namespace lwb {

// A copy of the package alone, with one kernel file replaced.
struct PackageSide {
  std::string name;
  std::filesystem::path src;
  std::string module;
  std::filesystem::path file;
  std::string sha256;
};

class Sandbox {
 public:
  // `<area>/<purpose>/tree`: src, benchmark, test and the small files beside them; a sandbox of that
  // purpose that is left over is replaced. Paths hold no date, so that recordings match.
  static Result<Sandbox> create(const Checkout& checkout, const std::filesystem::path& area,
                                const std::string& purpose);

  // `<area>/<purpose>/sides/<name>/src`.
  Result<PackageSide> add_side(const std::string& name, const std::string& kernel,
                               const std::string& text) const;
  // Puts `text` in place of the kernel file of the tree.
  Result<void> put_kernel(const std::string& kernel, const std::string& text) const;
  const std::filesystem::path& tree() const { return tree_; }
  void remove() const;

 private:
  Checkout checkout_;
  std::filesystem::path folder_, tree_;
};

}  // namespace lwb
