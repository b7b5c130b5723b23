// The difference of any two of original and variants, by number; the newer of them can be edited
// and offered to the run as its next variant.
#pragma once

#include <QWidget>
#include <string>

class QComboBox;
class QLabel;
class QStackedLayout;
class QToolButton;

namespace lwb {

class DiffView;
class RunView;
class VariantEditor;

class VariantDiff : public QWidget {
  Q_OBJECT
 public:
  explicit VariantDiff(RunView& run, QWidget* parent = nullptr);
  void show_variants(int old_number, int new_number);  // 0: the original
  void go_to_line(int line);                           // of the older text
  bool has_unsaved_edit() const;
  void discard_edit();

 Q_SIGNALS:
  void failed(const QString& sentence);

 private:
  void fill_choices();
  void load();
  void edit();
  void save();
  void show_whether_editable();
  std::string text_of(int number) const;
  QString title_of(int number) const;
  RunView& run_;
  QComboBox* old_choice_;
  QComboBox* new_choice_;
  DiffView* view_;
  VariantEditor* editor_;
  QToolButton* edit_;
  QLabel* offered_;
  QStackedLayout* pages_;
  int edited_ = 0;  // the variant that the edit began with
  int shown_old_ = -1, shown_new_ = -1;
  std::string old_text_, new_text_;  // as shown
};

}  // namespace lwb
