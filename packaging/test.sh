#!/usr/bin/env bash
# Sets up, builds, and runs every test that needs no GPU. The last line says how many passed,
# failed and were skipped; the reasons of the skips stand above it. Exit code 1 on any failure, or
# when nothing was tested.
#
#   LWB_PYTHON   the Python that the test environment is made from (default python3)
#   LWB_JOBS     parallel jobs (default: the number of processors)
#   LWB_OFFLINE  1: fetch nothing, use what is in the cache
#   LWB_LONG     1: also the tests with the label long (before an issue is called done)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

liger_release=0.8.5
jobs=${LWB_JOBS:-$(nproc)}
cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/liger-workbench
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$root/build/cache
results=$root/build/test-results
rm -rf "$results"
mkdir -p "$cache" "$results"
export QT_QPA_PLATFORM=offscreen
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then # Qt complains into every output without it
  XDG_RUNTIME_DIR=$(mktemp -d)
  export XDG_RUNTIME_DIR
  trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
fi
# The tests choose their own; what the user's shell has set must not steer them.
unset LIGER_KERNEL_IMPL LIGER_KERNEL_BACKEND PYTHONSAFEPATH PYTHONHOME

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

# The files that count.py adds up; a part that could not run at all leaves a note here.
note() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$results/notes.tsv"; }

step "Packages"
bash packaging/setup.sh

# Two runs at once share the cache: the second waits until it is filled.
exec 9>"$cache/lock"
flock 9

# --- the Python that the scripts are tested with -------------------------------------------------
step "Python environment"
python=${LWB_PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
key=$(sha256sum tests/requirements.txt | cut -c1-12)
venv=$cache/venv-$version-$key
python_reason=

# Whether pip finds a package at all: it tells a machine without PyPI, where tests are skipped, from
# a requirement that cannot be met, which is a failure.
pypi_answers() {
  "$python" -m pip download --disable-pip-version-check --no-input --retries 1 -q --no-deps \
    -d "$results/probe" iniconfig >"$results/probe.log" 2>&1
}
last_error() { grep -E '^ *ERROR' "$1" | grep -v 'Ignored the following' | head -n 1 | cut -c1-300; }

make_venv() {
  rm -rf "$venv.part"
  "$python" -m venv "$venv.part" &&
    "$venv.part/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
      --retries 2 -q -r tests/requirements.txt &&
    # Scripts in bin/ name the folder they were made in: say where it will stand, then move it.
    grep -rlIF "$venv.part" "$venv.part/bin" | xargs -r sed -i "s|$venv.part|$venv|g" &&
    rm -rf "$venv" && mv "$venv.part" "$venv"
}

if [ ! -x "$venv/bin/python" ]; then
  if [ "${LWB_OFFLINE:-}" = 1 ]; then
    python_reason="LWB_OFFLINE is 1 and the cache has no environment for tests/requirements.txt"
  elif ! make_venv >"$results/pip.log" 2>&1; then
    rm -rf "$venv.part"
    if pypi_answers; then
      python_reason="tests/requirements.txt could not be installed: $(last_error "$results/pip.log")"
      note failed "test environment" "$python_reason"
    else
      python_reason="PyPI cannot be reached: $(last_error "$results/probe.log")"
    fi
  fi
fi
if [ -z "$python_reason" ]; then
  export LWB_TEST_PYTHON=$venv/bin/python
  echo "$venv"
else
  echo "$python_reason"
fi

# --- the real package, for the tests on it -------------------------------------------------------
step "Source package of liger-kernel $liger_release"
liger=$cache/liger-kernel-$liger_release
liger_reason=

fetch_liger() {
  rm -rf "$liger.part"
  mkdir -p "$liger.part"
  # pip builds metadata to check the package; torch is not needed for it.
  "$python" -m pip download --disable-pip-version-check --no-input --progress-bar off --retries 2 -q \
    --no-deps --no-binary :all: -d "$liger.part" "liger-kernel==$liger_release" &&
    tar -xzf "$liger.part"/liger_kernel-*.tar.gz --strip-components=1 -C "$liger.part" &&
    rm -f "$liger.part"/*.tar.gz && rm -rf "$liger" && mv "$liger.part" "$liger"
}

if [ ! -d "$liger/src/liger_kernel/ops" ]; then
  if [ "${LWB_OFFLINE:-}" = 1 ]; then
    liger_reason="LWB_OFFLINE is 1 and the cache has no source package of liger-kernel $liger_release"
  elif ! fetch_liger >"$results/fetch.log" 2>&1; then
    rm -rf "$liger.part"
    if pypi_answers; then
      liger_reason="liger-kernel $liger_release could not be fetched: $(last_error "$results/fetch.log")"
      note failed "source package" "$liger_reason"
    else
      liger_reason="PyPI cannot be reached: $(last_error "$results/probe.log")"
    fi
  fi
fi
if [ -z "$liger_reason" ]; then
  export LWB_TEST_LIGER=$liger
  echo "$liger"
else
  echo "$liger_reason"
fi
export LWB_TEST_PYTHON_REASON=$python_reason LWB_TEST_LIGER_REASON=$liger_reason

flock -u 9

# --- builds and tests ----------------------------------------------------------------------------
build_and_test() { # preset, arguments for ctest…
  local preset=$1
  shift
  step "Build: $preset"
  if ! { cmake --preset "$preset" >"$results/configure-$preset.log" 2>&1 ||
    { tail -n 30 "$results/configure-$preset.log"; false; }; } ||
    ! cmake --build --preset "$preset" -j "$jobs"; then
    note failed "build $preset" "the build failed"
    return
  fi
  step "Tests: $preset"
  timeout -k 10 1500 ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=ignore \
    --output-junit "$results/ctest-$preset.xml" "$@" >"$results/ctest-$preset.log" 2>&1 || true
  tail -n 200 "$results/ctest-$preset.log" | grep -vE '^ *(Start|[0-9]+/[0-9]+) .*(Passed|:)' || true
  [ -s "$results/ctest-$preset.xml" ] || note failed "ctest $preset" "it wrote no results"
}

# One build, with the sanitizers. Whole runs that take minutes each have the label long.
if [ "${LWB_LONG:-}" = 1 ]; then build_and_test asan; else build_and_test asan -LE long; fi

step "Tests: Python scripts"
if [ -n "$python_reason" ]; then
  files=$(find tests/python -name 'test_*.py' | wc -l)
  note skipped "tests/python ($files files)" "$python_reason"
else
  # The time limit is for a test that hangs: everything else has its own.
  TRITON_CACHE_DIR=$root/build/triton-cache timeout -k 10 1500 "$LWB_TEST_PYTHON" -m pytest tests/python -q \
    -p no:cacheprovider -n "$jobs" --durations=5 --junit-xml "$results/pytest.xml" -o junit_family=xunit2 || true
  [ -s "$results/pytest.xml" ] || note failed "pytest tests/python" "it wrote no results"

  step "Tests: the sample checkout, in Triton's interpreter"
  (cd resources/sample && TRITON_INTERPRET=1 PYTHONDONTWRITEBYTECODE=1 "$LWB_TEST_PYTHON" -m pytest test -q \
    -p no:cacheprovider --junit-xml "$results/pytest-sample.xml") || true
  [ -s "$results/pytest-sample.xml" ] || note failed "pytest of the sample" "it wrote no results"
  if (cd resources/sample && "$venv/bin/ruff" check --no-cache -q . && "$venv/bin/ruff" format --no-cache -q --check .); then
    note passed "style of the sample" ""
  else
    note failed "style of the sample" "ruff reports findings"
  fi
fi

step "Result"
python3 packaging/count_tests.py "$results"
