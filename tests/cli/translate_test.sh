# mega translate: lines in, lines out, in order, whatever they are; the weights are random.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin
export MEGA_CACHE=$work/cache
run=$2
terminal=$3
make=$(dirname "$terminal")/make_translator
cd "$work" || exit 1
"$make" words.model words 1 && "$make" more.model words 2 && "$make" bytes.model bytes 3 || failed "no models"

short=(--threads 1 --max-length 8)
translate() { "$mega" translate "$@" "${short[@]}" 2>errors; }
same() { [ "$1" = "$2" ] || failed "$3: expected \"$1\", got \"$2\""; }

# Both programs, files and standard input, plain or compressed, any batch: the same lines.
for i in $(seq 90); do
  case $((i % 6)) in
    0) echo ;;
    1) echo "the house $i" ;;
    2) echo "The house is red ." ;;
    3) echo "x y z" ;;
    4) for ((k = 0; k < i; ++k)); do printf 'a red '; done && echo ;;
    5) echo "is" ;;
  esac
done >source
expected=$(translate words.model source)
same 90 "$(translate words.model source | wc -l)" "lines"
grep -qF "[90 lines, " errors || failed "no summary: $(cat errors)"
grep -qF "note: " errors || failed "nothing of the lines that are too long: $(cat errors)"
same "$expected" "$("$run" translate words.model "${short[@]}" <source 2>/dev/null)" "mega-run"
same "$expected" "$(translate words.model --batch 1 <source)" "--batch 1"
same "$expected" "$(translate words.model --batch 7 --batch-tokens 30 - <source)" "--batch 7"
gzip -k source
same "$expected" "$(translate words.model source.gz)" "gzip"
same "" "$(sed -n 6p <<<"$expected")" "an empty line"
same "" "$(translate words.model </dev/null)" "no input"

# Numbers beside the text.
translate words.model source --nbest 7 >best # the beam grows with it
same "1 1 1 1 1 1 1 2" "$(head -n 8 best | cut -f 1 | xargs)" "--nbest"
same "$(head -n 7 best | cut -f 2)" "$(head -n 7 best | cut -f 2 | sort -gr)" "--nbest is sorted"
same "$expected" "$(translate words.model source --scores | cut -f 2-)" "--scores"
translate words.model source --alignment | cut -f 1 | sed -n 2p | grep -qE '^[0-9]+-0( |$)' || failed "--alignment"
translate words.model source --json >json
same 90 "$(grep -c '"translations":' json)" "--json"
same '{"line":1,"source":"the house 1","translations":[{"text":' "$(head -c 57 json)" "--json"
translate words.model source --prefix "Haus rot" | sed -n 2p | grep -q "^Haus rot" || failed "--prefix"
same "$expected" "$(translate words.model source --ensemble words.model)" "an ensemble of a model and itself"
[ "$(translate words.model source --scores)" != "$(translate words.model source --ensemble more.model --scores)" ] ||
  failed "--ensemble changes nothing"
same "$(translate words.model source --sample --seed 5)" "$(translate words.model source --sample --seed 5 --batch 3)" "--sample"

# Running text: tags stay, sentences become one line again.
printf 'The house is red . A house .\n<p>\n' >running
same "<p>" "$(translate words.model running --split | tail -n 1)" "a tag"
same "$(printf 'The house is red .\nA house .\n' | translate words.model | paste -sd ' ')" \
  "$(translate words.model running --split | head -n 1)" "--split"

# What nobody expects: nothing is lost, nothing is out of order.
{
  printf 'The\0house\n\0\0\n\xff\xfe\x80\n'
  for ((i = 0; i < 10000; ++i)); do printf 'house '; done
  printf '\n\n\r\nhalf a character \xe2\x82'
} >hostile
for model in words bytes; do
  translate "$model.model" hostile --beam 2 >out || failed "$model: $(cat errors)"
  same 7 "$(wc -l <out)" "hostile lines, $model"
  same "" "$(sed -n 5,6p out)" "empty hostile lines, $model"
  iconv -f UTF-8 -t UTF-8 out >/dev/null || failed "$model: not UTF-8"
  grep -qF "note: 1 of 7 lines" errors || [ "$model" = bytes ] || failed "a long line: $(cat errors)"
done

# In every form of output: one object, or so many rows, per line.
translate words.model hostile --json >out || failed "hostile, --json: $(cat errors)"
same 7 "$(grep -c '^{"line":[1-7],"source":".*"parts":[0-9]*}$' out)" "hostile lines, --json"
iconv -f UTF-8 -t UTF-8 out >/dev/null || failed "--json: not UTF-8"
same "1 1 2 2 3 3 4 4 5 6 7 7" "$(translate words.model hostile --nbest 2 --alignment | cut -f 1 | xargs)" "hostile, --nbest"
for form in --scores --split "--batch 1" "--sample" "--replace-unknown"; do
  # shellcheck disable=SC2086 # an option and its value
  same 7 "$(translate words.model hostile $form | wc -l)" "hostile lines, $form"
done
# Windows' line ends, one word of a megabyte, thousands of sentences in a line.
same "$expected" "$(sed 's/$/\r/' source | translate words.model)" "carriage returns"
head -c 1000000 /dev/zero | tr '\0' x >word
same 1 "$(translate words.model word | wc -l)" "a long word"
same 1 "$(head -c 3000 word | translate bytes.model --beam 1 | wc -l)" "a long word of bytes"
for ((i = 0; i < 2000; ++i)); do printf 'The house . A house . '; done >sentences
same 1 "$(translate words.model sentences --split --beam 1 | wc -l)" "sentences of a line"
grep -qF "[1 lines, 4,000 sentences" errors || failed "--split: $(cat errors)"

# Prefixes: words that nobody knows, specials, no text, more than a translation may have.
translate words.model source --prefix "Haus unbekannt" | sed -n 2p | grep -q "^Haus <unk>" || failed "an unknown prefix"
translate words.model source --prefix "</s> <pad>" | sed -n 2p | grep -q "^<unk> <unk>" || failed "specials as a prefix"
same "$expected" "$(translate words.model source --prefix "  ")" "blanks as a prefix"
same 90 "$(translate words.model source --prefix "$(printf '\xff\xfe')" | wc -l)" "a prefix that is no UTF-8"
same "a a a a a a a a a a" "$(echo the | translate words.model --prefix "a a a a a a a a a a")" "a long prefix"

# A pipe that stays open gets its answers.
mkfifo pipe
translate words.model <pipe >answers &
exec 9>pipe
echo "the house" >&9
for ((i = 0; i < 100; ++i)); do [ -s answers ] && break || sleep 0.1; done
[ -s answers ] || failed "no answer while the pipe is open"
exec 9>&-
wait $!
same 1 "$(wc -l <answers)" "answers of a pipe"

# Ctrl-C: what is finished is there, in order, and whole.
for ((i = 0; i < 3000; ++i)); do cat source; done >long
"$mega" translate words.model long --threads 1 --batch 2 >part 2>errors &
process=$!
for ((i = 0; i < 100; ++i)); do [ -s part ] && break || sleep 0.1; done
kill -INT $process
wait $process
same 130 $? "Ctrl-C"
lines=$(wc -l <part)
[ "$lines" -gt 0 ] && [ "$lines" -lt 270000 ] || failed "Ctrl-C: $lines lines"
[ -z "$(tail -c 1 part)" ] || failed "Ctrl-C: half a line"
same "$("$mega" translate words.model --threads 1 --batch 2 2>/dev/null < <(head -n "$lines" long))" "$(cat part)" "Ctrl-C"
# Also while it waits.
"$mega" translate words.model <pipe >/dev/null 2>&1 &
process=$!
exec 9>pipe
for ((i = 0; i < 100; ++i)); do
  grep -qs "^SigCgt:.*[2367abef]$" /proc/$process/status && break || sleep 0.1
done
kill -INT $process
wait $process
same 130 $? "Ctrl-C while it waits"
exec 9>&-

# A full or closed standard output.
if [ -e /dev/full ]; then
  "$mega" translate words.model source "${short[@]}" >/dev/full 2>errors
  same 1 $? "a full standard output"
fi
"$mega" translate words.model source "${short[@]}" >&- 2>errors
same 1 $? "a closed standard output"

# A reader that has seen enough.
"$mega" translate words.model long --threads 1 2>errors | head -n 1 >out
[ "${PIPESTATUS[0]}" -ne 0 ] || failed "a closed pipe"
same 1 "$(wc -l <out)" "a closed pipe"

# Typed lines.
same 2 "$(printf 'the house\na\n' | translate words.model --interactive | wc -l)" "--interactive"

# Given translations: a table or two files; of the best one, what the search says.
translate words.model source --json | head -n 60 >json
sed -n 's/^{"line":[0-9]*,"source":"\([^"]*\)","translations":\[{"text":"\([^"]*\)".*"log_probability":\([^,]*\),.*"parts":1}$/\1\t\2\t\3/p' json |
  awk -F '\t' 'index($2, "<unk>") == 0 && $2 != ""' >scored
[ -s scored ] || failed "no translation to score"
cut -f 1 scored >in && cut -f 2 scored >out && cut -f 1,2 scored >table.tsv
"$mega" score words.model --pairs in out 2>errors | paste - scored |
  awk -F '\t' '($1 - $4) ^ 2 > 1e-6 { exit 1 }' || failed "score --pairs: $(cat errors)"
grep -qF "perplexity" errors || failed "score --pairs: no summary"
same "$("$mega" score words.model --pairs in out 2>/dev/null)" "$("$run" score words.model --pairs table.tsv 2>/dev/null)" \
  "score --pairs of a table"
expect 0 '"log_probability":' score words.model --pairs table.tsv --json
expect 1 "is a translator" score words.model in
head -n 1 in >one
expect 1 "lines" score words.model --pairs one source
same 7 "$("$mega" score words.model --pairs hostile hostile 2>errors | grep -cE '^-[0-9]+\.[0-9]{4}$')" "hostile pairs"
grep -qF "1 of 7 pairs" errors || failed "a long pair: $(cat errors)"
expect 1 "3 files" score words.model --pairs in out one
expect 1 "nowhere" score words.model --pairs in nowhere
cut -f 1 table.tsv >column.tsv
expect 1 "there is only 1 column, but source and target are needed" score words.model --pairs column.tsv
paste in in out >three.tsv
expect 1 "set --source-column" score words.model --pairs three.tsv
same "$("$mega" score words.model --pairs in out 2>/dev/null)" \
  "$("$run" score words.model --pairs three.tsv --source-column 2 --target-column 3 2>/dev/null)" \
  "score --pairs of columns by number"

# Smaller files.
expect 0 "bleu" quantize words.model --type int8 --data table.tsv --out int8.model
expect 0 '"bleu":' quantize words.model --type bf16 --data table.tsv --out bf16.model --json
for type in int8 bf16; do same 90 "$(translate $type.model source | wc -l)" "$type"; done

# A shortlist allows what occurred with the words of a sentence.
expect 0 "not allowed" shortlist words.model in out --out short.list
expect 0 "BLEU" shortlist words.model in out --out short.list --check 2
"$mega" shortlist words.model in out --out short.list --check 0 2>/dev/null | grep -q "allowed" && failed "--check 0"
translate words.model in --shortlist short.list >restricted || failed "--shortlist: $(cat errors)"
same "$(wc -l <in)" "$(wc -l <restricted)" "--shortlist"
expect 1 "belongs to another model" translate bytes.model in --shortlist short.list
expect 1 'words.model: is no file of `mega shortlist`' translate words.model in --shortlist words.model
for size in 0 5 200 $(($(wc -c <short.list) - 1)); do
  head -c "$size" short.list >cut.list
  expect 1 "cut.list: " translate words.model in --shortlist cut.list
done
expect 1 "no pair of sentences" shortlist words.model /dev/null /dev/null --out none.list
expect 1 "lines" shortlist words.model in source --out none.list
[ ! -e none.list ] || failed "a shortlist of nothing"

# Wrong use, damaged input: what came before it is translated.
head -c -9 source.gz >damaged.gz
translate words.model damaged.gz >out && failed "a damaged file is no error"
grep -qF "damaged.gz" errors || failed "no name of the damaged file"
expect 1 "nowhere: cannot open" translate words.model nowhere
expect 1 "have different vocabularies" translate words.model source --ensemble bytes.model
expect 1 "beam" translate words.model source --beam 2 --nbest 3
expect 2 "--beam" translate words.model source --beam 0
expect 1 "nowhere" translate nowhere source
expect 1 "nowhere" translate words.model source --ensemble nowhere
expect 1 "short.list" translate short.list source
expect 1 "source" translate source source
head -c 9000 words.model >cut.model
expect 1 "cut.model" translate cut.model source
expect 1 "is a folder" translate words.model .
expect 1 "words.model is a translator" generate words.model --prompt a
expect 1 "source" translate words.model source --shortlist source
expect 2 "excludes" translate words.model source --interactive

echo "$failures failures"
[ "$failures" = 0 ]
