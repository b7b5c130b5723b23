# The sample checkout, for packaging/run.sh: a fresh copy of it, and whether a GPU can be used here.

sample_kernel=scale_norm
sample_source=$root/resources/sample

# Makes a fresh copy of the sample in the folder, as a git repository with one commit, so that the
# branch of the pull request can be made too. Author and date are fixed: the same sample gives the
# same commit everywhere.
copy_sample() { # folder
  mkdir -p "$1"
  # What a local test run left in the sample does not belong to it.
  (cd "$sample_source" && tar -cf - --exclude=__pycache__ --exclude='.*_cache' --exclude=optimization \
    --exclude=visualizations .) | tar -xf - -C "$1"
  local git=(env GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    GIT_AUTHOR_NAME=Sample GIT_AUTHOR_EMAIL=sample@localhost GIT_AUTHOR_DATE=2026-01-01T00:00:00Z
    GIT_COMMITTER_NAME=Sample GIT_COMMITTER_EMAIL=sample@localhost
    GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git -C "$1" -c core.autocrlf=false)
  "${git[@]}" init -q -b main
  "${git[@]}" add -A
  "${git[@]}" commit -q -m "Sample checkout"
}

# Says whether a live run is possible here: a driver that answers, and a Python whose torch finds
# the GPU. Prints the reason when not.
why_no_gpu() { # python
  command -v nvidia-smi >/dev/null || { echo "nvidia-smi is not here"; return; }
  timeout 30 nvidia-smi -L >/dev/null 2>&1 || { echo "nvidia-smi does not answer"; return; }
  command -v "$1" >/dev/null || { echo "$1 is not here: name a Python with torch by LWB_PYTHON"; return; }
  timeout 120 "$1" -c 'import sys, torch, triton; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1 ||
    echo "torch of $1 finds no GPU: name a Python with torch and triton by LWB_PYTHON"
}
