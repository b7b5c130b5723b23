#!/usr/bin/env bash
# Sets up, builds, and shows the program on the bundled sample: its kernels, and where a GPU and torch
# answer an A/B measurement of the sample's norm kernel against itself. Further arguments go to
# lwb measure.
#
#   LWB_PYTHON   Python with torch and triton for the measurement (default python3)
#   LWB          the program, where it is built already
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/sample.sh"

lwb=${LWB:-$root/build/release/app/lwb}
python=${LWB_PYTHON:-python3}

if [ -z "${LWB:-}" ]; then
  bash "$root/packaging/setup.sh"
  cd "$root"
  cmake --preset release >/dev/null
  cmake --build --preset release --target lwb -j "$(nproc)"
fi

copy=$(mktemp -d "${TMPDIR:-/tmp}/liger-workbench-sample.XXXXXX")/sample
copy_sample "$copy"
echo "Sample checkout: $copy"
"$lwb" kernels --checkout "$copy"

reason=$(why_no_gpu "$python")
if [ -n "$reason" ]; then
  echo "No measurement here: $reason."
  exit 0
fi
LWB_PYTHON=$python "$lwb" measure --checkout "$copy" --kernel "$sample_kernel" --import-from-source \
  --variant "$copy/src/liger_kernel/ops/$sample_kernel.py" "$@"
