# --shard I/N of translate, score and predict: the outputs of all parts, one after the other, are that of the whole.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache
mega=$2 # all of this works without libtorch
old=$(cd "$(dirname "$0")/../compatibility/0.1" && pwd)
"$(dirname "$3")/make_translator" "$work/model" words 1 || failed "no model"
cd "$work" || exit 1

# parts N COMMAND...: the outputs of N parts; `input` is what each gets on standard input
input=/dev/null
parts() {
  local i n=$1
  shift
  for i in $(seq "$n"); do
    "$mega" "$@" --shard "$i/$n" --threads 1 <"$input" 2>>errors || failed "mega $* --shard $i/$n: $(cat errors)"
  done
}
# same NUMBERS COMMAND...: as one process has it
same() {
  local n numbers=$1 expected
  shift
  expected=$("$mega" "$@" --threads 1 <"$input" 2>errors) || failed "mega $*: $(cat errors)"
  [ -n "$expected" ] || failed "mega $*: no output"
  for n in $numbers; do
    [ "$(parts "$n" "$@")" = "$expected" ] || failed "mega $*: $n parts are not the whole"
  done
}

printf 'the house\n\nThe house is red . A house .\nx y z\na red house\nis\nred' >source
translate=(translate model --max-length 8)
same "1 2 3 9" "${translate[@]}" source # 9: more than there are lines
same 3 "${translate[@]}" source --nbest 3
same 3 "${translate[@]}" source --json
same "2 3" "${translate[@]}" source --sample --seed 5 --split
gzip -k source
same 2 "${translate[@]}" source.gz
input=source same 3 "${translate[@]}"
expected=$("$mega" "${translate[@]}" source 2>/dev/null)
[ "$(for i in 1 2; do cat source | "$mega" "${translate[@]}" - --shard $i/2 2>/dev/null; done)" = "$expected" ] || failed "a pipe"
[ "$("$mega" "${translate[@]}" source --shard 8/9 2>&1 >/dev/null)" ] && [ -z "$("$mega" "${translate[@]}" source --shard 8/9 2>/dev/null)" ] ||
  failed "an empty part"
expect 1 "this is a pipe: let it be standard input" "${translate[@]}" <(cat source) --shard 1/2

# Each of them says what is wrong with a part.
for bad in 0/0 0/2 3/2 -1/2 2 text 1/2/3; do
  for command in "translate model source" "score model --pairs source source" "predict model source"; do
    # shellcheck disable=SC2086 # words
    expect 2 "--shard: expected I/N, part I of N, from 1/N to N/N, got \"$bad\"" $command --shard=$bad
  done
done
expect 2 "excludes" "${translate[@]}" --interactive --shard 1/2
expect 2 "excludes" predict model --stream --shard 1/2

same "2 9" score model --pairs source source
same 3 score model --pairs source source --json
paste source source >pairs.tsv
same 2 score model --pairs pairs.tsv

letters=$old/models/classifier-bytes.safetensors
cut -f 2 "$old/data/letters.tsv" >texts
printf 'text,label\nab,a\nb\nbb,b\n' >torn.csv
same "2 5" predict "$letters" --lines texts --json
same 3 predict "$letters" --text a --text bb texts "$old/data/letters.tsv" source --json # a file is one input, and a table
same 4 predict "$letters" torn.csv --set data.skip_broken=true
input=texts same 2 predict "$letters"
[ "$(for i in 1 2; do cat texts | "$mega" predict "$letters" --shard $i/2 2>/dev/null; done)" = \
  "$("$mega" predict "$letters" - <texts 2>/dev/null)" ] || failed "a pipe of texts"
# What stops one process stops every part that comes to it, after the answers before it.
[ "$(for i in 1 2; do "$mega" predict "$letters" torn.csv --shard $i/2 2>/dev/null; done)" = \
  "$("$mega" predict "$letters" torn.csv 2>/dev/null)" ] || failed "a torn table"
# What belongs to another part is not opened.
[ "$("$mega" predict "$letters" texts nowhere --shard 1/2 2>/dev/null)" = "$("$mega" predict "$letters" texts 2>/dev/null)" ] ||
  failed "a file of another part was opened"
expect 1 "nowhere: no such file" predict "$letters" texts nowhere --shard 2/2

bytes=$old/models/language-bytes.safetensors
same 2 score "$bytes" texts source --tokens
[ "$("$mega" score "$bytes" texts source --json --shard 2/2 | grep -c '"text"')" = 1 ] || failed "a part of the files"

echo "$failures failures"
[ "$failures" = 0 ]
