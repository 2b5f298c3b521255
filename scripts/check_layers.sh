#!/usr/bin/env bash
# Fails on an include that breaks the order of layers, and on one of ours that names no file.
# usage: scripts/check_layers.sh [FOLDER OF THE SOURCE TREE]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

# The definition of the layers, lowest first; docs/architecture.md says what each is for. A layer may include itself
# and the layers before it, except those named beside it. Torch's headers begin where the table says so.
layers() {
  cat <<'END'
base
report
text
config
data
kernels     except data
infer
ops         torch
nn
models
baselines
distributed
train
bench
cli
END
}

folders=()
for folder in mega bench cli tests examples; do
  if [ -d $folder ]; then folders+=("$folder"); fi
done
[ ${#folders[@]} -gt 0 ] || { echo "no source folder in $PWD" >&2 && exit 2; }

# awk reads the table, then the names of all files, then the files. Tests of the layers without torch are bound as their
# layer is; other tests, and examples, may include everything.
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) | sort | {
  mapfile -t files
  # shellcheck disable=SC2016  # fields of awk, not of the shell
  awk '
    function layer_of(path, parts) {
      if (path == "mega/mega.h") return "infer"  # the C interface of the engine
      split(path, parts, "/")
      if (parts[1] == "mega") return parts[2]
      if (parts[1] == "tests") return parts[2] in rank && rank[parts[2]] < torch_begins ? parts[2] : ""
      return parts[1] in rank ? parts[1] : ""
    }
    function complain(text) {
      print FILENAME ":" FNR ": " text
      bad = 1
    }
    function check(include, layer, other) {
      if (!(include in exists)) {
        complain("includes \"" include "\", which does not exist")
        return
      }
      other = layer_of(include)
      if (include ~ /^(tests|examples)\// && FILENAME !~ /^(tests|examples)\//)
        complain("includes \"" include "\": only tests and examples may")
      else if (layer != "" && other != "" && rank[other] > rank[layer])
        complain("layer " layer " must not include " other " (\"" include "\"), which comes after it")
      else if (layer != "" && (layer, other) in forbidden)
        complain("layer " layer " must not include " other " (\"" include "\")")
    }

    pass == "layers" {
      rank[$1] = ++count
      if ($2 == "torch") torch_begins = count
      if ($2 == "except") for (i = 3; i <= NF; ++i) forbidden[$1, $i] = 1
      next
    }
    pass == "names" { exists[$0] = 1; next }

    FNR == 1 {
      layer = layer_of(FILENAME)
      if (FILENAME ~ /^mega\// && !(layer in rank)) complain("mega/" layer " is no layer of scripts/check_layers.sh")
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      check(quoted[2], layer)
    }
    /^[ \t]*#[ \t]*include[ \t]*<(torch|ATen|c10)\// {
      if (layer != "" && rank[layer] < torch_begins)
        complain("layer " layer " must not include torch: " $2)
    }
    END { exit bad }
  ' pass=layers <(layers) pass=names <(printf '%s\n' "${files[@]}") pass=files "${files[@]}"
}
