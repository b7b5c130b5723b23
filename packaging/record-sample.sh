#!/usr/bin/env bash
# Renews the sample's recording: runs the pipeline on the sample live and records what it saw.
# Needs a GPU, and a Python with torch and triton.
#
#   LWB_PYTHON   that Python (default python3)
#   LWB          the program, where it is built already (default build/release/app/lwb)
#   LWB_OUT      where the recording goes (default: its place in resources/)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/sample.sh"

lwb=${LWB:-$root/build/release/app/lwb}
python=${LWB_PYTHON:-python3}
out=${LWB_OUT:-$sample_recording}

reason=$(why_no_gpu "$python")
if [ -n "$reason" ]; then
  echo "A recording is made on a GPU: $reason." >&2
  exit 1
fi
if [ -z "${LWB:-}" ] && command -v cmake >/dev/null; then
  bash "$root/packaging/setup.sh"
  (cd "$root" && cmake --preset release >/dev/null && cmake --build --preset release --target lwb -j "$(nproc)")
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/liger-workbench-record.XXXXXX")
trap 'rm -rf "$folder"' EXIT
copy_sample "$folder/sample"
# The old recording stays until the new one is whole.
new=$folder/$(basename "$out")
LWB_PYTHON=$python "$lwb" run --checkout "$folder/sample" "${sample_options[@]}" --record "$new" "$@"
mkdir -p "$(dirname "$out")"
cp "$new" "$out.part"
mv "$out.part" "$out"
echo "Recorded: $out"
