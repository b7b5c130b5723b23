#!/usr/bin/env bash
# Runs a program of tests with an X server that nobody sees; 77 (skipped) where there is none.
set -euo pipefail
command -v xvfb-run >/dev/null || { echo "skipped: xvfb-run is not installed"; exit 77; }
exec xvfb-run -a env LWB_TEST_DISPLAY=1 QT_QPA_PLATFORM=xcb "$@"
