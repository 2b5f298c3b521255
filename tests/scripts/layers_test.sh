#!/usr/bin/env bash
# scripts/check_layers.sh finds includes that break the order of layers.
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
check=("$source_tree/scripts/check_layers.sh" "$folder")

mkdir -p "$folder"/mega/{base,text,data,kernels,infer,ops,models,baselines} "$folder"/{cli,tests/{kernels,ops}}
for file in base/error text/words data/batches kernels/dot infer/session ops/linear models/encoder baselines/factory; do
  echo '#pragma once' >"$folder/mega/$file.h"
done
touch "$folder/mega/mega.h" "$folder/cli/program.h" "$folder/tests/compare.h"

# write FILE LINE: all else in the file is allowed.
write() {
  printf '#include <vector>\n\n#include "mega/base/error.h"\n%s\n' "$2" >"$folder/$1"
}

write mega/ops/linear.cc '#include <torch/torch.h>'
write mega/infer/session.cc '#include "mega/data/batches.h"'
write cli/main.cc '#include "mega/baselines/factory.h"'
write tests/ops/linear_test.cc '#include "mega/baselines/factory.h"'
passes "${check[@]}"

# breaks FILE LINE TEXT: with that line the check fails and says so; without it, all is well again.
breaks() {
  write "$1" "$2"
  finds "$3" "${check[@]}"
  says "$1:4: "
  rm "$folder/$1"
  passes "${check[@]}"
}

breaks mega/base/a.cc '#include "mega/text/words.h"' 'layer base must not include text'
breaks mega/kernels/a.cc '#include "mega/data/batches.h"' 'layer kernels must not include data'
breaks mega/models/a.h '#  include "mega/baselines/factory.h"' 'layer models must not include baselines'
breaks mega/infer/a.cc '#include <ATen/ATen.h>' 'layer infer must not include torch'
breaks mega/infer/a.cc '#include "mega/ops/linear.h"' 'layer infer must not include ops'
breaks mega/data/a.cc '#include "mega/mega.h"' 'layer data must not include infer'
breaks mega/ops/a.cc '#include "cli/program.h"' 'layer ops must not include cli'
breaks mega/ops/a.cc '#include "tests/compare.h"' 'only tests and examples may'
breaks mega/ops/a.cc '#include "mega/ops/gone.h"' '"mega/ops/gone.h", which does not exist'
breaks tests/ops/a_test.cc '#include "mega/ops/gone.h"' '"mega/ops/gone.h", which does not exist'
breaks tests/kernels/a_test.cc '#include "mega/infer/session.h"' 'layer kernels must not include infer'

mkdir "$folder/mega/attic"
write mega/attic/a.cc ''
finds 'mega/attic is no layer' "${check[@]}"
