// `lwb`: the pipeline in a terminal.
#include "app/lwb_program.h"

int main(int argc, char** argv) {
  return lwb::run_lwb(argc, argv);
}
