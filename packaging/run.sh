#!/usr/bin/env bash
# Sets up, builds, and takes the sample's kernel through the whole pipeline: live where a GPU and
# torch answer, else from a recording that was made on a GPU. Further arguments go to lwb run.
#
#   LWB_PYTHON   Python with torch and triton for a live run (default python3)
#   LWB          the program, where it is built already
#   LWB_REPLAY   1: play the recording even where there is a GPU
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

if [ "${LWB_REPLAY:-}" = 1 ]; then reason="LWB_REPLAY is 1"; else reason=$(why_no_gpu "$python"); fi
options=("${sample_options[@]}")
if [ -n "$reason" ]; then
  echo "No live run here ($reason): playing the recording $(basename "$sample_recording")."
  if [ ! -f "$sample_recording" ]; then
    echo "The recording $sample_recording is missing: make it with packaging/record-sample.sh on a machine with a GPU." >&2
    exit 1
  fi
  options+=(--replay "$sample_recording")
else
  export LWB_PYTHON=$python
fi

copy=$(mktemp -d "${TMPDIR:-/tmp}/liger-workbench-sample.XXXXXX")/sample
copy_sample "$copy"
echo "Sample checkout: $copy"
code=0
"$lwb" run --checkout "$copy" "${options[@]}" "$@" || code=$?
echo "What the run left: $copy/optimization/$sample_kernel"
exit "$code"
