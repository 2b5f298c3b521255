#!/usr/bin/env bash
# scripts/check_format.sh finds files that clang-format would change, and leaves the tree alone under another version.
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
check=("$source_tree/scripts/check_format.sh" "$folder")

cp "$source_tree/.clang-format" "$folder"
mkdir -p "$folder/mega/base" "$folder/bin"
printf 'int sum(int a, int b) { return a + b; }\n' >"$folder/mega/base/good.cc"
passes "${check[@]}"

printf 'int sum(int a,int b){return a+b;}\n' >"$folder/mega/base/bad.cc"
if "${check[@]}" 2>&1 | grep -q 'nothing is checked'; then
  echo "no clang-format of the right version here"
else
  finds mega/base/bad.cc "${check[@]}"
  "${check[@]}" 2>&1 | grep -q good.cc && fail "a well formatted file is named"
fi

# Another version, and none.
for program in bash dirname sed find sort xargs; do ln -s "$(command -v $program)" "$folder/bin/"; done
PATH=$folder/bin passes "${check[@]}"
printf '#!/bin/bash\necho Debian clang-format version 19.1.7\n' >"$folder/bin/clang-format"
chmod +x "$folder/bin/clang-format"
PATH=$folder/bin passes "${check[@]}"
