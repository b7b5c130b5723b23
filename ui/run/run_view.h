// What the panels of the window look at: the run of one kernel, as the fold of its journal, and
// what the person has selected. Panels know this and not each other.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <filesystem>
#include <optional>

#include "core/run/approvals.h"
#include "core/run/lock.h"
#include "core/run/offers.h"
#include "core/run/workspace.h"
#include "ui/run/journal_follower.h"

namespace lwb {

class RunView : public QObject {
  Q_OBJECT
 public:
  explicit RunView(QObject* parent = nullptr);

  // Shows the run of `kernel` in the checkout, which may not have begun yet. `archived`: a folder
  // of an earlier run instead of the present one. Empty names show nothing.
  void open(const QString& checkout, const QString& kernel,
            const std::filesystem::path& archived = {});

  const RunState& state() const { return follower_.state(); }
  JournalFollower& follower() { return follower_; }
  const Workspace& workspace() const { return workspace_; }
  QString checkout() const { return checkout_; }
  QString kernel() const { return kernel_; }
  bool is_open() const { return !kernel_.isEmpty(); }
  bool is_archived() const { return archived_; }
  // The journal holds a run.
  bool has_run() const { return !state().started.empty(); }
  // The process that works on it now, in this window's machine.
  const std::optional<LockOwner>& owner() const { return owner_; }
  bool is_running() const { return owner_.has_value() && !archived_; }

  // The variant that every panel shows: 0 is the original. -1: none is selected.
  int selected_variant() const { return selected_; }
  void select_variant(int number);

  // "recorded on NVIDIA H200" or the GPU's name; empty while it is not known.
  QString measured_on() const;

  // Sends a decision to the run; false with `problem` when it cannot be written.
  bool answer(const std::string& id, const ApprovalAnswer& answer, QString& problem);

  // Gives the run a variant of the person's own; false with `problem` when it takes none.
  bool offer(const VariantOffer& offer, QString& problem);
  // Why it takes none, or an empty text.
  QString offer_problem() const;

  // Ends the process that works on it, whoever started it; what it did can be gone on with. False
  // with `problem` when it runs on another machine or belongs to another user.
  bool stop(QString& problem);
  // The run is to ask before it makes the next variant.
  bool is_pause_wished() const;
  bool wish_pause(bool wished, QString& problem);

 Q_SIGNALS:
  void restarted();                                    // another run: forget everything
  void folded(const std::vector<lwb::Event>& events);  // these were added
  void running_changed();
  void variant_selected(int number);
  // "Go to line 12 of the original": from the profile's opportunities.
  void line_wanted(int line);
  void failed(const QString& sentence);

 private:
  void look_for_owner();
  JournalFollower follower_;
  Workspace workspace_;
  QString checkout_, kernel_;
  bool archived_ = false;
  std::optional<LockOwner> owner_;
  int selected_ = -1;
  QTimer owner_timer_;
};

}  // namespace lwb
