#!/usr/bin/env bash
# Copies `lwb` with the libraries it needs into a folder that runs on a machine without Qt:
#   packaging/bundle.sh FOLDER          then there: LWB_RESOURCE_ROOT=<this tree> FOLDER/lwb …
# The C library and the loader stay the machine's own.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:?usage: packaging/bundle.sh FOLDER}
program=${LWB_PROGRAM:-$root/build/release/app/lwb}
command -v patchelf >/dev/null || { echo "bundle: install patchelf first" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder/lib"
cp "$program" "$folder/lwb"
strip "$folder/lwb"
ldd "$program" | awk '$3 ~ /^\// {print $3}' |
  grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libresolv)\.so' |
  while read -r library; do cp -L "$library" "$folder/lib/"; done
patchelf --set-rpath '$ORIGIN/lib' "$folder/lwb"
for library in "$folder"/lib/*; do patchelf --set-rpath '$ORIGIN' "$library"; done
du -sh "$folder"
