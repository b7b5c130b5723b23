// The side-by-side diff: two panes whose equal rows stand beside each other and scroll together.
#pragma once

#include <QWidget>
#include <vector>

#include "core/diff/diff.h"

class QAction;
class QCheckBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QToolButton;

namespace lwb {

class DiffPane;
class OverviewBar;

class DiffView : public QWidget {
  Q_OBJECT
 public:
  explicit DiffView(QWidget* parent = nullptr);

  void set_texts(const QString& old_title, const std::string& old_text, const QString& new_title,
                 const std::string& new_text);
  void clear(const QString& sentence);
  // Changes are runs of rows that differ; -1 while none was gone to.
  int change_count() const { return static_cast<int>(changes_.size()); }
  int current_change() const { return current_; }
  void next_change();
  void previous_change();
  // Shows this line of the old text.
  void go_to_old_line(int line);
  // Puts a control of the owner's at the left of the bar.
  void add_to_bar(QWidget* control);
  DiffPane* old_pane() { return old_; }
  DiffPane* new_pane() { return new_; }

 private:
  void make_bar();
  void compare();
  QString comment_of(const RowRange& change) const;
  void fold_unchanged();
  void refresh_marks();
  void go_to(int change);
  void scrolled(DiffPane* from, DiffPane* to);
  void find(bool forward);
  std::string old_text_, new_text_;
  Diff diff_;
  std::vector<RowRange> changes_;
  std::vector<std::size_t> opened_;  // folds that the person has opened, by first row
  int current_ = -1;
  bool scrolling_ = false;
  int added_ = 0;
  QHBoxLayout* bar_ = nullptr;
  DiffPane* old_;
  DiffPane* new_;
  OverviewBar* overview_;
  QLabel* old_title_;
  QLabel* new_title_;
  QLabel* position_;
  QCheckBox* fold_;
  QCheckBox* lock_;
  QAction* ignore_space_;
  QAction* ignore_comments_;
  QLineEdit* find_;
};

}  // namespace lwb
