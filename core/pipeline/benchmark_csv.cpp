#include "core/pipeline/benchmark_csv.h"

#include <algorithm>

#include "core/base/files.h"
#include "core/finalize/apply.h"
#include "core/measure/stock_table.h"

namespace lwb {
namespace {

constexpr const char* kRelative = "benchmark/data/all_benchmark_data.csv";

fs::path kept_csv(const Session& session) {
  return session.workspace.root / "before_all_benchmark_data.csv";
}

}  // namespace

Result<CommitFile> update_benchmark_csv(Session& session, const Checkout& checkout, int number,
                                        const std::vector<std::string>& reference) {
  const fs::path file = checkout.root / kRelative;
  auto state = state_of_apply(session.journal, file);
  if (!state) return tl::unexpected(state.error());
  const bool written = *state == ApplyState::kApplied;
  auto before = read_file(written ? kept_csv(session) : file);
  if (!before) return tl::unexpected(before.error());
  auto fresh = read_stock_csv(session.workspace.stock_csv(number));
  if (!fresh) return tl::unexpected(fresh.error());
  std::erase_if(fresh->rows, [&](const StockRow& row) {
    return std::count(reference.begin(), reference.end(), row.kernel_provider) > 0;
  });
  auto after = merge_stock_rows(*before, *fresh, file.string());
  if (!after) return tl::unexpected(after.error());
  if (!written) {
    auto done = apply_change(session.journal, {file, *before, *after, kept_csv(session)});
    if (!done) return tl::unexpected(done.error());
  }
  return CommitFile{kRelative, std::move(*before), std::move(*after)};
}

Result<void> revert_benchmark_csv(Session& session, const Checkout& checkout) {
  const fs::path file = checkout.root / kRelative;
  auto state = state_of_apply(session.journal, file);
  if (!state || *state != ApplyState::kApplied) return {};
  auto before = read_file(kept_csv(session));
  auto after = read_file(file);
  if (!before) return tl::unexpected(before.error());
  if (!after) return tl::unexpected(after.error());
  return revert_change(session.journal, {file, *before, *after, kept_csv(session)});
}

}  // namespace lwb
