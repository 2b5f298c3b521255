#!/usr/bin/env bash
# Fails on a file that clang-format would change, and names it.
# usage: scripts/check_format.sh [FOLDER OF THE SOURCE TREE]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

# Versions format differently; this one is Debian 12's.
version=14

if command -v clang-format-$version >/dev/null; then
  formatter=clang-format-$version
elif command -v clang-format >/dev/null; then
  formatter=clang-format
  found=$(clang-format --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
  if [ "$found" != $version ]; then
    echo "clang-format is version $found, which formats differently from version $version: nothing is checked" >&2
    exit 0
  fi
else
  echo "no clang-format (version $version): nothing is checked" >&2
  exit 0
fi

folders=()
for folder in mega bench cli tests examples; do
  if [ -d $folder ]; then folders+=("$folder"); fi
done
[ ${#folders[@]} -gt 0 ] || { echo "no source folder in $PWD" >&2 && exit 2; }

# clang-format -Werror says what is wrong line by line; the names are enough.
status=0
complaints=$(find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 |
  sort -z | xargs -0 -n 40 -P 2 $formatter --style=file --fallback-style=none --dry-run --Werror 2>&1) || status=$?
if [ $status != 0 ]; then
  names=$(sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' <<<"$complaints" | sort -u)
  [ -n "$names" ] || { echo "$complaints" >&2 && exit 2; }
  echo "clang-format would change these; run: $formatter -i FILE" >&2
  echo "$names"
  exit 1
fi
