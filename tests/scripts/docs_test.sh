#!/usr/bin/env bash
# scripts/check_docs.sh finds documented commands that do not parse.
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
check=("$source_tree/scripts/check_docs.sh" "$1" "$2" "$folder")
mkdir "$folder/docs"

# document LINE...: the page, with good commands around the lines.
document() {
  printf '# Page\n\n```sh\nmega train text-small --data FILE.tsv   # a comment; mega train --wrong\n```\n\n' \
    >"$folder/docs/page.md"
  printf '%s\n' "$@" >>"$folder/docs/page.md"
}

document '```' '$ OMP_NUM_THREADS=2 build/mega train listops-small \' "    --set train.seed=2 --time '4m' > log.txt" \
  'mega prints --this' '```'
passes "${check[@]}"
document 'Say `mega predict --stream`, `mega data make listops`, `mega' 'inspect NAME` or `./check --long`.'
passes "${check[@]}"
document '```cpp' 'mega train --wrong' '```'
passes "${check[@]}"

# wrong TEXT LINE...: the check fails with the text, at the first of these lines.
wrong() {
  local text=$1
  shift
  document '```sh' "$@" '```'
  finds "$text" "${check[@]}"
  says docs/page.md:8:
}
wrong '--wrong' 'mega eval runs/text-small --wrong'
wrong '--wrong' 'mega train text-small \' '  --wrong'
wrong '--wrong' 'zcat texts.gz | MEGA_X=1 build/mega-run score MODEL - --wrong 2>&1 | head'
wrong 'nonsense' 'mega nonsense'
wrong 'bench' 'mega-run bench ema'
wrong '--repeats' 'mega bench ema --repeats many'
wrong 'int8' 'mega quantize MODEL --type int7'
wrong 'required' 'mega data make listops'
wrong 'text-smal' 'mega train text-smal --data reviews.tsv'
wrong 'learning_rat' 'mega train text-small --set train.learning_rat=0.1'
wrong 'model.block.chunk' 'mega inspect text-small --set model.block.chunk=many'
wrong 'updatez' 'mega train RECIPE --set train.updatez=100'
wrong 'unknown option' './check --quick'
wrong 'unknown option' './quickstart --quick'
wrong 'unclosed quote' 'mega score MODEL --text "one'

document 'An option in a sentence: `mega predict' '--strem`.'
finds docs/page.md:7: "${check[@]}"
document 'An option in a sentence: `--set train.updatez=100`.'
finds docs/page.md:7: "${check[@]}"

# What the programs say themselves.
document 'Nothing.'
mkdir "$folder/cli"
printf '%s\n' 'fail("look at it (`mega data check`), or see `mega train PRESET --options`");' >"$folder/cli/good.cc"
passes "${check[@]}"
printf '%s\n' '// A comment.' 'fail("look at it (`mega data look`)");' >"$folder/cli/bad.cc"
finds cli/bad.cc:2: "${check[@]}"
