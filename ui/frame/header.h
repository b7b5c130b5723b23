// The line above everything: which run this is, and where its numbers come from.
#pragma once

#include <QFrame>

class QLabel;

namespace lwb {

class GpuMonitor;
class RunView;

class Header : public QFrame {
  Q_OBJECT
 public:
  Header(RunView& run, GpuMonitor& gpu, QWidget* parent = nullptr);

 private:
  void refresh();
  void refresh_machine();
  RunView& run_;
  GpuMonitor& gpu_;
  QLabel* kernel_;
  QLabel* request_;     // "backward · speed · NVIDIA H200"
  QLabel* provenance_;  // "recorded on NVIDIA H200", "live", "ended"
  QLabel* machine_;
  QLabel* throttling_;     // GPU facts of the last samples
};

}  // namespace lwb
