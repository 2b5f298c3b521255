# data check for translators: parallel text in all its forms, what looks wrong with it, and what stops.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export MEGA_CACHE=$work/cache
bytes=(--set input.units=bytes --set input.normalize=false --set input.tokenize=none --set data.max_ratio=9)
check() {
  local status=$1 text=$2 file=$3
  shift 3
  expect "$status" "$text" data check wmt16-en-de "$work/$file" "${bytes[@]}" "$@"
}

# lines COUNT WORD: so many lines of one language.
lines() { awk -v n="$1" -v word="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s number %d of %d\n", word, i, i * 7 % 13 }'; }

mkdir "$work/m"
lines 300 "the line of" >"$work/m/train.en"
lines 300 "die zeile der" | gzip >"$work/m/train.de.gz"
lines 20 "one line of" | tee "$work/m/test_2016.en" "$work/m/val.en" >"$work/m/test_2017.en"
lines 20 "eine zeile der" | tee "$work/m/test_2016.de" "$work/m/val.de" >"$work/m/test_2017.de"
check 0 "en to de" m
check 0 "test_2016" m
check 0 "test_2017" m
check 0 "de to en" m --set input.source_language=de --set input.target_language=en
check 0 '"name": "test_2017"' m --json
"$mega" data check wmt16-en-de "$work/m" "${bytes[@]}" 2>&1 | grep -q warning && failed "a warning about good data"
check 0 "en to de" m/train
check 0 "en to de" m/train.en
cp "$work/m/train.en" "$work/source"
gzip -dc "$work/m/train.de.gz" >"$work/target"
check 0 "300" source --set data.target="$work/target" --set data.valid_share=0 --set data.test_share=0
check 1 "one side of parallel text" source
paste "$work/source" "$work/target" >"$work/pairs.tsv"
check 0 "en to de" pairs.tsv
"$mega" data check wmt16-en-de - "${bytes[@]}" <"$work/pairs.tsv" 2>&1 | grep -q "^train" || failed "standard input"
awk -F '\t' '{ printf "{\"en\": \"%s\", \"de\": \"%s\"}\n", $1, $2 }' "$work/pairs.tsv" | gzip >"$work/pairs.jsonl.gz"
check 0 "en to de" pairs.jsonl.gz

# What looks wrong.
cp "$work/source" "$work/same.en"
cp "$work/source" "$work/same.de"
check 0 "warning: train: in 100 % of the pairs source and target are the same" same
check 0 "warning: there are no pairs to choose by" same --set data.valid_share=0
awk '{ print NR % 3 ? $0 : "" }' "$work/target" >"$work/holes.de"
cp "$work/source" "$work/holes.en"
check 0 "of the targets are empty" holes
check 0 "100 of 300 pairs are not trained on: 100 with an empty side" holes --set data.valid_share=0 --set data.test_share=0

# What train would stop at.
sed 150d "$work/target" >"$work/short.de"
cp "$work/source" "$work/short.en"
check 1 "short.en has 300 lines and $work/short.de 299" short
{ cat "$work/pairs.tsv" && echo "torn"; } >"$work/torn.tsv"
check 1 "torn.tsv:301: 1 column where 2 are expected" torn.tsv
check 1 "would stop: 1 file or row cannot be used" torn.tsv
check 0 "torn.tsv:301" torn.tsv --set data.skip_broken=true
lines 5 "lonely" >"$work/m/test_2018.en"
check 1 "test_2018.en: has no counterpart test_2018.de" m
mkfifo "$work/m/test_2018.de"
check 1 "test_2018.de: is a pipe" m
check 1 "no such file" nothing
check 1 "which to translate into which" m --set input.source_language= --set input.target_language=

echo "$failures failures"
[ "$failures" = 0 ]
