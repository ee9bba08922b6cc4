# Shared by the scripts in this folder; sourced, not run. Sets `root` to the project's folder and goes there.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root" || exit 1

# Ours only: a step's name, a remark below it, and the end of it all.
say() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Compilers are called through ccache where it is installed. The hash leaves the folder out, so that another clone of
# the project profits.
use_ccache() {
  if command -v ccache > /dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
  fi
}

# build PRESET [TARGET...]: configures and builds build/PRESET. A terminal shows the progress; otherwise the output goes
# to a log, whose end is shown only if the build fails.
build() {
  local preset=$1
  shift
  local arguments=(--build --preset "$preset")
  [ $# -eq 0 ] || arguments+=(--target "$@")
  mkdir -p "build/$preset"
  local log="build/$preset/build.log"
  if [ -t 1 ]; then
    cmake --preset "$preset" > "$log" 2>&1 || build_failed "$log"
    cmake "${arguments[@]}" || die "the build of preset '$preset' failed"
  else
    { cmake --preset "$preset" && cmake "${arguments[@]}"; } > "$log" 2>&1 || build_failed "$log"
  fi
}

build_failed() {
  # The first thing that failed, or the end of the log where the configuration did.
  { sed -n '/^FAILED:/,$p' "$1" | grep . || tail -n 25 "$1"; } | head -n 40 >&2
  die "the build failed; everything it printed is in $root/$1"
}

# Size of a file in bytes, and as text for a person.
size_of() { stat -c %s "$1"; }
human() { numfmt --to=iec --suffix=B --format=%.1f "$1"; }
