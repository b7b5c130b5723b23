// Where the changes are in the whole diff, and which part is in sight; a click or drag goes there.
#pragma once

#include <QPixmap>
#include <QWidget>
#include <vector>

#include "core/diff/diff.h"

namespace lwb {

class OverviewBar : public QWidget {
  Q_OBJECT
 public:
  explicit OverviewBar(QWidget* parent = nullptr);
  // A changed row at its display line.
  struct Mark {
    int line = 0;
    RowKind kind = RowKind::kSame;
  };
  void set_marks(std::vector<Mark> marks, int lines);
  void set_visible(int first, int count);

 Q_SIGNALS:
  void line_wanted(int display_line);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  int y_of(int line) const;
  void draw_marks();
  std::vector<Mark> marks_;
  int lines_ = 1, first_ = 0, count_ = 0;
  QPixmap drawn_;  // of the marks: they change less often than what is in sight
};

}  // namespace lwb
