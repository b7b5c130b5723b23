#!/usr/bin/env bash
# Sets up, builds, and does the program's main job on the bundled sample: `lwb run`, from profile to the
# written kernel file, on a fresh copy. Without a GPU it replays a recording of that run where there
# is one, else it lists the sample's kernels. Further arguments go to lwb run.
#
#   LWB_PYTHON   Python with torch and triton for the run (default python3)
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

run=("$lwb" run --checkout "$copy" --kernel "$sample_kernel" --goal speed --autonomous --import-from-source)
recording=$root/resources/recordings/sample.json.gz
reason=$(why_no_gpu "$python")
if [ -z "$reason" ]; then
  LWB_PYTHON=$python "${run[@]}" "$@"
elif [ -f "$recording" ]; then
  echo "No run on this machine ($reason): replaying the recording."
  "${run[@]}" --replay "$recording" "$@"
else
  echo "No run on this machine: $reason. The sample's kernels:"
  "$lwb" kernels --checkout "$copy"
fi
