#!/usr/bin/env bash
# The code in README.md and docs/ is that of the examples, and prints what is written there. A fenced block after a line
# <!-- snippet FILE --> must be what FILE has between [snippet] and [end], with nothing between several such parts but
# an empty line, each moved to the left margin. A block after <!-- output --> shows commands, after "$ ", and what they
# print.
# shellcheck source=tests/scripts/helpers.sh
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
build=$(realpath "$(dirname "$1")")

# snippet FILE: its marked parts.
snippet() {
  awk '
    /\[end\]/ { inside = 0 }
    inside {
      if (first) { match($0, /^ */); indent = RLENGTH; first = 0 }
      print substr($0, (/^ *$/ ? length($0) : indent) + 1)
    }
    /\[snippet\]/ { if (parts++) print ""; inside = first = 1 }
  ' "$1"
}

# blocks KIND DOCUMENT: the blocks of this kind as files $folder/KIND.N, with the rest of the mark in $folder/KIND.N.of.
blocks() {
  rm -f "$folder/$1".*
  awk -v kind="$1" -v folder="$folder" '
    $1 == "<!--" && $2 == kind { of = $3; marked = 1; next }
    /^```/ && marked { marked = 0; inside = 1; name = folder "/" kind "." ++count; print of > (name ".of"); printf "" > name; next }
    /^```/ { inside = 0 }
    inside { print > name }
    marked && NF { print FILENAME ": no block after <!-- " kind " -->" > "/dev/stderr"; exit 1 }
  ' "$2"
}

cd "$source_tree"
# What users copy first is never without its example.
for document in README.md docs/engine.md; do
  awk '/^```c(pp)?$/ && last !~ /^<!-- snippet / { print FILENAME ":" FNR ": code that is no snippet of an example"; bad = 1 }
    { last = $0 } END { exit bad }' "$document" || fail "$document"
done
snippets=0 outputs=0
for document in README.md docs/*.md; do
  blocks snippet "$document" || fail "$document"
  for mark in "$folder"/snippet.*.of; do
    [ -e "$mark" ] || continue
    file=$(cat "$mark")
    [ -f "$file" ] || fail "$document: a snippet of $file, which does not exist"
    snippet "$file" | diff -u --label "$document" --label "$file" "${mark%.of}" - || fail "$document: is not $file"
    snippets=$((snippets + 1))
  done
  blocks output "$document" || fail "$document"
  for mark in "$folder"/output.*.of; do
    [ -e "$mark" ] || continue
    block=${mark%.of}
    while IFS= read -r command; do
      echo "$command"
      eval "${command/#\$ build\//$build/}" 2>&1 </dev/null || fail "$document: $command: status $?"
    done < <(grep '^\$ ' "$block") >"$folder/printed"
    diff -u --label "$document" --label "printed now" "$block" "$folder/printed" || fail "$document: other output"
    outputs=$((outputs + 1))
  done
done
[ $snippets -ge 3 ] && [ $outputs -ge 3 ] || fail "only $snippets snippets and $outputs outputs in README.md and docs/"
