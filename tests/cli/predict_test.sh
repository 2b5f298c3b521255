# predict: reads what training reads, and prints a line for each input. Models and data are those of version 0.1.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
mega=$2 # all of this works without libtorch
old=$(cd "$(dirname "$0")/../compatibility/0.1" && pwd)
letters=$old/models/classifier-bytes.safetensors
series=$old/models/classifier-series.safetensors
pairs=$old/models/matcher-bytes.safetensors

predict() { "$mega" predict "$@" 2>"$work/notes"; }
json() { predict "$@" --json; }
classes() { sed 's/.*"classes"/"classes"/'; } # what was answered, without the input
lines() { wc -l | tr -d ' '; }
same() { [ "$2" = "$3" ] || failed "$1: \"$2\" instead of \"$3\""; }

# The same texts as a table of any kind, as lines and one by one: the same answers in the same order.
cut -f 2 "$old/data/letters.tsv" >"$work/texts.txt"
expected=$(json "$letters" --lines "$work/texts.txt" | classes)
same "lines of standard input" "$(json "$letters" - <"$work/texts.txt" | classes)" "$expected"
same "tsv" "$(json "$letters" "$old/data/letters.tsv" | classes)" "$expected"
{ echo "id;text;label"; awk -F '\t' '{ printf "%d;\"%s\";%s\r\n", NR, $2, $1 }' "$old/data/letters.tsv"; } >"$work/a.csv"
same "csv with semicolons" "$(json "$letters" "$work/a.csv" | classes)" "$expected"
gzip -k "$work/a.csv"
same "compressed csv" "$(json "$letters" "$work/a.csv.gz" | classes)" "$expected"
same "table from standard input" "$(zcat "$work/a.csv.gz" | json "$letters" --table - | classes)" "$expected"
awk -F '\t' '{ printf "{\"id\": \"n%d\", \"text\": \"%s\"}\n", NR, $2 }' "$old/data/letters.tsv" >"$work/a.jsonl"
same "jsonl" "$(json "$letters" "$work/a.jsonl" | classes)" "$expected"

# Place, id, text and label are passed on; text is quoted once.
printf 'id,label,text\n7,a,"ab\n""b"", a"\n8,,bb\n' >"$work/quoted.csv"
json "$letters" "$work/quoted.csv" >"$work/out"
same "number of answers" "$(lines <"$work/out")" 2
grep -qF '"input":"'"$work"'/quoted.csv:2","id":"7","text":"ab\n\"b\", a","label":"a","classes":[{"class":' "$work/out" ||
  failed "not passed on: $(head -n 1 "$work/out")"
tail -n 1 "$work/out" | grep -qF '"label"' && failed "a label that is not there"
json "$letters" --text 'say "b"' --text bb >"$work/out"
same "--text" "$(sed 's/,"classes".*//' "$work/out")" '{"input":"--text:1","text":"say \"b\""
{"input":"--text:2","text":"bb"'
printf 'a\tb\n' | json "$pairs" | grep -qF '"text":"a","second":"b"' || failed "the texts of a pair are not passed on"

# A line for each input, empty ones too.
same "empty lines" "$(printf 'ab\n\n\nb' | predict "$letters" - | lines)" 4
grep -qF "2 of 4 inputs are empty" "$work/notes" || failed "no word on empty inputs: $(cat "$work/notes")"
same "empty files" "$(predict "$letters" /dev/null "$work/texts.txt" | lines)" 2
same "nothing" "$(predict "$letters" </dev/null | lines)" 0

# What cannot be read is an error after the answers before it, or a line that says so.
printf 'text,label\nab,a\nb\nbb,b\n' >"$work/torn.csv"
expect 1 "torn.csv:3: 1 column where 2 are expected" predict "$letters" "$work/torn.csv"
expect 1 "torn.csv:2" predict "$letters" "$work/torn.csv"
skip=(--set data.skip_broken=true)
same "broken rows" "$(predict "$letters" "$work/torn.csv" "${skip[@]}" | lines)" 3
json "$letters" "$work/torn.csv" "${skip[@]}" | grep -qF 'torn.csv:3","classes":null,"problem":"1 column' ||
  failed "the problem is not in the JSON"
expect 1 "only data options" predict "$letters" --text a --set model.layers=2
expect 0 "ab" predict "$letters" --json --set data.text_column=label --set data.label_column=text "$work/quoted.csv"
expect 1 "no such file" predict "$letters" "$work/nothing.csv"

# Inputs that are longer than what the model reads.
head -c 5000 /dev/zero | tr '\0' 'a' >"$work/long.txt"
predict "$letters" "$work/long.txt" "$work/texts.txt" >/dev/null
grep -qF "1 of 2 inputs are longer" "$work/notes" || failed "no word on a text that was cut: $(cat "$work/notes")"

# Numbers, sounds, pictures and ListOps: files and folders of training.
same "series" "$(json "$series" "$old/data/series.jsonl" | lines)" "$(lines <"$old/data/series.jsonl")"
json "$series" "$old/data/series.jsonl" | head -n 1 | grep -qF '"label":"22.59 -3.8","values":[' || failed "label of a series"
printf '1;2,5;3;4\n5;6;7;8\n' >"$work/values.csv"
printf '{"values": [1, 2.5, 3, 4]}\n{"values": [5, 6, 7, 8]}\n' >"$work/values.jsonl"
values() { sed 's/.*"values"//'; }
same "table of series" "$(json "$series" "$work/values.csv" | values)" "$(json "$series" "$work/values.jsonl" | values)"
printf 'x,y\n1,2.5\n3,4\n' >"$work/one.csv"
same "one series" "$(json "$series" "$work/one.csv" | values)" "$(json "$series" "$work/values.jsonl" | head -n 1 | values)"
tones=$old/models/classifier-sound.safetensors
same "folder of sounds" "$(predict "$tones" "$old/data/tones" | lines)" 16
same "sounds" "$(json "$tones" "$old/data/tones/test" | classes)" \
  "$(json "$tones" "$old"/data/tones/test/high/*.wav "$old"/data/tones/test/low/*.wav | classes)"
json "$tones" "$old/data/tones/test" | head -n 1 | grep -qF 'test/high/0.wav","label":"high"' || failed "label of a sound"
expect 0 "idx3-ubyte:1" predict "$old/models/classifier-pixels.safetensors" "$old/data/bars"
expect 0 "basic_test.tsv:2" predict "$old/models/classifier-listops.safetensors" "$old/data/listops/basic_test.tsv"

# At a terminal it says what it waits for, and answers each line at once.
if command -v script >/dev/null; then
  printf 'ab\n\004' | script -qec "$mega predict $letters" /dev/null >"$work/typed" 2>&1
  grep -qF "Ctrl-D" "$work/typed" || failed "no word on what it waits for: $(cat "$work/typed")"
fi

# Places and problems cannot fake lines.
mkdir "$work/names" && printf 'ab' >"$work/names/$(printf 'a\nfake\033[2J').txt"
same "names" "$(predict "$letters" "$work/names" | lines)" 1

# A stream of lines takes no more memory than a few of them.
if [ -x /usr/bin/env ] && ulimit -v >/dev/null 2>&1; then
  lines_out=$(yes abab | head -n 20000 | (ulimit -v 2000000; predict "$letters" - --threads 1) | lines)
  same "a stream" "$lines_out" 20000
fi

echo "$failures failures"
[ "$failures" = 0 ]
