// A whole text, as it stands in its file, with the lines marked that the other side has not.
#pragma once

#include <string>

#include "ui/variants/diff/code_pane.h"

namespace lwb {

class EditPane : public CodePane {
  Q_OBJECT
 public:
  explicit EditPane(Side side, QWidget* parent = nullptr);
  void set_text(const std::string& text);
  // Byte for byte, with the line ends of set_text().
  std::string text_bytes() const;
  // `diff`: of the present texts.
  void show_marks(const Diff& diff);

 private:
  Side side_;
};

}  // namespace lwb
