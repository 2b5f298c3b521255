# For tests of scripts: a folder that goes at the end, and two ways to run a check. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail
# shellcheck disable=SC2034  # used by those who source this
source_tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# passes COMMAND...
passes() {
  local output
  output=$("$@" 2>&1) || fail "$*: $output"
}

# finds TEXT COMMAND...: the command fails, and what it prints has the text.
finds() {
  local text=$1
  shift
  if output=$("$@" 2>&1); then fail "$* passes, but should find: $text"; fi
  says "$text"
}

# says TEXT: what the last `finds` printed has this too.
says() {
  case $output in *"$1"*) ;; *) fail "no '$1' in: $output" ;; esac
}
