#!/usr/bin/env bash
# Speed of the window against its limits: builds the benchmark program in release mode and runs it
# offscreen. Exit code 1 when a limit is passed. Arguments go to Google Benchmark
# (--benchmark_filter=chart_refresh).
#
#   LWB_BENCH_SECONDS  how long the fast run is followed (default 60; -1: not at all)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
bash packaging/setup.sh
if [ ! -e /usr/include/benchmark/benchmark.h ]; then
  echo "bench: installing Google Benchmark"
  ${SUDO:-$([ "$(id -u)" = 0 ] || echo sudo)} apt-get install -y -q libbenchmark-dev
fi
cmake --preset release -DLWB_BENCH=ON -DBUILD_TESTING=ON >/dev/null
cmake --build build/release --target bench_window -j "$(nproc)" | tail -n 1
export QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}
exec build/release/tests/bench/bench_window "$@"
