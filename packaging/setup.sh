#!/usr/bin/env bash
# Installs what building and testing need, on Debian 12 or Ubuntu 24.04 (and their successors).
# Asks nothing, can be run again, and leaves apt alone when everything is there.
set -euo pipefail

# A line is one need: package names that meet it, the first one that the distribution has is taken.
# A need with file: is met by that file too, and nothing is installed where no package is known.
needs=(
  build-essential
  cmake
  ninja-build
  ccache
  pkg-config
  git
  ca-certificates
  python3
  python3-venv
  qt6-base-dev
  "qt6-svg-dev libqt6svg6-dev"
  "qt6-charts-dev libqt6charts6-dev"
  "libqt6opengl6-dev file:/usr/lib/*/cmake/Qt6OpenGL/Qt6OpenGLConfig.cmake"
  libqscintilla2-qt6-dev
  nlohmann-json3-dev
  libexpected-dev
  libfmt-dev
  libcli11-dev
  libkainjow-mustache-dev
  libmd4c-dev
  libmd4c-html0-dev
  libgtest-dev
  libgmock-dev
  xvfb
)

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

met() {
  local name
  local -a names
  read -ra names <<<"$1"
  for name in "${names[@]}"; do
    case $name in
      file:*) compgen -G "${name#file:}" >/dev/null && return 0 ;;
      *) installed "$name" && return 0 ;;
    esac
  done
  return 1
}

missing=()
for need in "${needs[@]}"; do met "$need" || missing+=("$need"); done
if [ "${#missing[@]}" -eq 0 ]; then
  echo "setup: all packages are there"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "setup: this needs apt (Debian 12, Ubuntu 24.04); elsewhere install the like of:" \
    "${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: packages are missing (${missing[*]}): run packaging/setup.sh as root once" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a apt-get -q)
"${apt[@]}" update

chosen=()
for need in "${missing[@]}"; do
  found=
  read -ra names <<<"$need"
  for name in "${names[@]}"; do
    case $name in file:*) continue ;; esac
    if available "$name"; then found=$name; break; fi
  done
  if [ -z "$found" ]; then
    case $need in *file:*) continue ;; esac
    echo "setup: this distribution has none of these packages: $need" >&2
    exit 1
  fi
  chosen+=("$found")
done
echo "setup: installing ${chosen[*]}"
"${apt[@]}" install -y --no-install-recommends "${chosen[@]}"
