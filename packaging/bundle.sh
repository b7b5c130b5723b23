#!/usr/bin/env bash
# Copies programs with the libraries they need into a folder that runs on a machine without Qt:
#   packaging/bundle.sh FOLDER [PROGRAM…]     then there: LWB_RESOURCE_ROOT=<this tree> FOLDER/lwb …
# Without a PROGRAM: lwb (or LWB_PROGRAM). A program with a window gets Qt's platforms offscreen and
# xcb, and lwb beside it, which it starts. The C library and the loader stay the machine's own.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:?usage: packaging/bundle.sh FOLDER [PROGRAM…]}
shift
programs=("$@")
[ $# -gt 0 ] || programs=("${LWB_PROGRAM:-$root/build/release/app/lwb}")
command -v patchelf >/dev/null || { echo "bundle: install patchelf first" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder/lib"

# FILE RPATH: its libraries into lib/, and the file itself looks for them there.
take_libraries() {
  ldd "$1" | awk '$3 ~ /^\// {print $3}' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libresolv)\.so' |
    while read -r library; do cp -Ln "$library" "$folder/lib/" || true; done
}

for program in "${programs[@]}"; do
  name=$(basename "$program")
  cp "$program" "$folder/$name"
  strip "$folder/$name"
  take_libraries "$program"
  patchelf --set-rpath '$ORIGIN/lib' "$folder/$name"
done
if compgen -G "$folder/lib/libQt6Gui.so*" >/dev/null; then
  mkdir -p "$folder/plugins/platforms"
  plugins=$(qmake6 -query QT_INSTALL_PLUGINS)
  for platform in offscreen xcb; do
    cp "$plugins/platforms/libq$platform.so" "$folder/plugins/platforms/"
    take_libraries "$plugins/platforms/libq$platform.so"
    patchelf --set-rpath '$ORIGIN/../../lib' "$folder/plugins/platforms/libq$platform.so"
  done
  printf '[Paths]\nPlugins = plugins\n' >"$folder/qt.conf"
fi
for library in "$folder"/lib/*; do patchelf --set-rpath '$ORIGIN' "$library"; done
du -sh "$folder"
