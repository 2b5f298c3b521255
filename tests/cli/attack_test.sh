# What attacks found: hostile files, names, streams and sizes end with a message and a status, and destroy nothing.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive MEGA_CACHE=$work/cache
trained_by=$mega
run=$2
mega=$run # `expect` runs this from here on
escape=$'\e' csi=$'\u009b'

# A tiny classifier, whose class has an evil name, and a tiny language model.
for i in $(seq 20); do printf 'a%s[31m%s\tgood %d\nb\tbad %d\n' "$escape" "$csi" "$i" "$i"; done >"$work/labelled.tsv"
for i in $(seq 100); do echo "the cat sat on the mat $((i % 7)) times"; done >"$work/corpus.txt"
tiny=(--threads 1 --set model.layers=1 --set model.block.width=16 --set model.block.values=32 --set model.block.shared=8
  --set model.block.hidden=16 --set model.block.chunk=32 --set model.block.ema.dimension=4 --set train.warmup=1
  --set train.evaluate=0 --set train.updates=2)
"$trained_by" train text-small --data "$work/labelled.tsv" --out "$work/classes" --set input.units=bytes "${tiny[@]}" \
  >"$work/log" 2>&1 || failed "training: $(cat "$work/log")"
"$trained_by" train bytes-small --data "$work/corpus.txt" --out "$work/bytes" --set train.batch=512 "${tiny[@]}" \
  >"$work/log" 2>&1 || failed "training: $(cat "$work/log")"
classes=$work/classes/model.safetensors bytes=$work/bytes/model.safetensors
commands=("inspect $bytes" "inspect $bytes --json" "predict $classes --text good" "predict $classes --text good --json"
  "generate $bytes --prompt a --max-tokens 3" "generate $bytes --prompt a --max-tokens 3 --json"
  "score $bytes $work/corpus.txt" "--help" "--version" "predict --help")

# Standard output that is full or closed.
for command in "${commands[@]}"; do
  # shellcheck disable=SC2086
  for kind in full closed; do
    if [ $kind = full ]; then "$run" $command 2>"$work/said" >/dev/full; else "$run" $command 2>"$work/said" >&-; fi
    status=$?
    [ $status = 1 ] && grep -q "standard output" "$work/said" ||
      failed "$command: status $status with a $kind output: $(cat "$work/said")"
  done
done
# With everything closed, no file gets what is printed.
(
  exec 0<&- 1>&- 2>&-
  exec "$run" generate "$bytes" --prompt a --max-tokens 3 --save-state "$work/closed.state"
)
if [ -e "$work/closed.state" ]; then expect 0 "" generate "$bytes" --load-state "$work/closed.state" --max-tokens 1; fi

# Nothing that terminals obey is printed.
harmless() {
  local output
  output=$("$@" 2>&1)
  if [ -z "$output" ] || grep -qF "$escape" <<<"$output" || grep -qF "$csi" <<<"$output"; then
    failed "$* prints: $(cat -v <<<"$output")"
  fi
}
evil=$work/$'evil\e[31m\u009b\nmega-run: all is well'
echo "some text" >"$evil"
cp "$bytes" "$evil.safetensors"
harmless "$run" predict "$classes" --text good
harmless "$run" predict "$classes" --text good --json
harmless "$run" predict "$classes" "$evil"
harmless "$run" predict "$classes" "$evil" --json
harmless "$run" predict "$classes" "$evil.nowhere"
harmless "$run" inspect "$evil.safetensors"
harmless "$run" inspect "$evil.safetensors" --json
harmless "$run" inspect "$classes" --json
harmless "$run" score "$bytes" "$evil"
harmless "$run" score "$bytes" "$evil" --json
harmless "$run" generate "$evil.nowhere"
[ "$("$run" generate "$evil.nowhere" 2>&1 | wc -l)" = 1 ] || failed "a file name fakes a line"
# What a model writes, on a terminal: U+009B is two bytes, which come one after the other.
if command -v script >/dev/null; then
  script -qec "$run generate $bytes --prompt a --temperature 3 --max-tokens 4000 --seed 7" /dev/null </dev/null >"$work/screen" 2>&1
  if grep -qaF "$escape" "$work/screen" || grep -qaP '\xc2[\x80-\x9f]' "$work/screen"; then
    failed "generate writes control characters on a terminal"
  fi
fi

# Names that are not UTF-8, and names that are too long.
odd=$work/$'odd\xff'
cp "$bytes" "$odd"
cp "$work/corpus.txt" "$odd.txt"
expect 0 '"parameters"' inspect "$odd" --json
expect 0 "block.width" inspect "$odd"
expect 0 '"perplexity"' score "$bytes" "$odd.txt" --json
expect 0 '"probability"' predict "$classes" "$odd.txt" --json
expect 1 "No such file" inspect "$odd.nowhere"
long=$(printf 'a%.0s' $(seq 5000))
for command in inspect generate; do
  output=$("$run" $command "$work/$long" 2>&1)
  [ $? = 1 ] && ! grep -q unexpected <<<"$output" || failed "$command of a long name: $output"
done

# Damage.
flip() { # FILE PLACE: another bit
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf %x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
for model in "$classes" "$bytes"; do
  size=$(stat -c %s "$model")
  for place in $((size - 3)) $((size / 2)) 2000; do
    cp "$model" "$work/flipped"
    flip "$work/flipped" "$place"
    for command in "inspect $work/flipped" "predict $work/flipped --text a" "generate $work/flipped"; do
      # shellcheck disable=SC2086
      "$run" $command >/dev/null 2>"$work/said"
      status=$?
      [ $status = 1 ] && grep -q "flipped" "$work/said" || failed "$command: status $status, $(cat "$work/said")"
    done
  done
done
expect 0 "checksum: matches" inspect "$bytes"

# Input without an end.
export MEGA_FILE_LIMIT=10000000
expect 1 "/dev/zero: has more than 9.5 MiB, the limit" predict "$classes" /dev/zero
expect 1 "/dev/zero:1: the line is longer than 9.5 MiB" predict "$classes" --lines /dev/zero
head -c 20000000 /dev/zero | gzip -1 >"$work/bomb.gz"
expect 1 "bomb.gz: has more than 9.5 MiB, the limit (set MEGA_FILE_LIMIT" predict "$classes" "$work/bomb.gz"
export MEGA_FILE_LIMIT=30000000
expect 0 "%" predict "$classes" "$work/bomb.gz"
export MEGA_FILE_LIMIT=lots
expect 1 "MEGA_FILE_LIMIT" predict "$classes" "$work/bomb.gz"
unset MEGA_FILE_LIMIT

# Output is no reason to destroy what is there.
save=(generate "$bytes" --prompt a --max-tokens 3 --save-state)
mkfifo "$work/pipe"
expect 1 "is a pipe (FIFO)" "${save[@]}" "$work/pipe"
[ -p "$work/pipe" ] || failed "the pipe was replaced"
expect 0 "" "${save[@]}" /dev/null
[ -c /dev/null ] || failed "/dev/null was replaced"
echo old >"$work/target"
chmod 640 "$work/target"
ln -s target "$work/link"
expect 0 "" "${save[@]}" "$work/link"
[ -L "$work/link" ] && [ "$(stat -c %a "$work/target")" = 640 ] || failed "link or permissions were lost"
expect 0 "" generate "$bytes" --load-state "$work/target" --max-tokens 1
"$run" "${save[@]}" /dev/stdout 2>/dev/null | tail -c 4 >/dev/null || failed "--save-state /dev/stdout"
echo left >"$work/.state.99999999.0.tmp"
expect 0 "" "${save[@]}" "$work/state"
[ ! -e "$work/.state.99999999.0.tmp" ] || failed "what a killed process left is still there"

# Pipes where files are expected are not waited for; those that are named are read.
mkdir "$work/run"
mkfifo "$work/run/model.safetensors"
for command in inspect generate "predict --text a" "score"; do
  # shellcheck disable=SC2086
  timeout 20 "$run" $command "$work/run" "$work/corpus.txt" >"$work/said" 2>&1
  status=$?
  [ $status != 0 ] && [ $status != 124 ] || failed "$command with a pipe as model: status $status, $(cat "$work/said")"
done
(echo "good" >"$work/pipe" &)
expect 0 "%" predict "$classes" "$work/pipe"

# Only in mega: recipes, data sets, sizes.
mega=$trained_by
{
  printf '[a'
  printf '.a%.0s' $(seq 30000)
  echo ']'
} >"$work/deep.toml"
expect 1 "deep.toml:1: nested deeper than 32 levels" inspect "$work/deep.toml"
mkdir -p "$work/folder/a" "$work/folder/b"
for i in $(seq 20); do
  echo "good $i" >"$work/folder/a/$i.txt"
  echo "bad $i" >"$work/folder/b/$i.txt"
done
mkfifo "$work/folder/a/pipe.txt"
harmless timeout 60 "$trained_by" data check text-small "$work/folder"
"$trained_by" data check text-small "$work/folder" 2>&1 | grep -q "a/pipe.txt: is a pipe" || failed "a pipe is not called out"
cp "$work/labelled.tsv" "$evil.tsv" && printf 'torn\n' >>"$evil.tsv"
harmless "$trained_by" train text-small --data "$evil.tsv" --out "$evil run" --set input.units=bytes \
  --set data.skip_broken=true "${tiny[@]}"
harmless "$trained_by" eval "$evil run"
harmless "$trained_by" eval "$evil run" --json
harmless "$trained_by" quantize "$evil run" --type bf16
harmless "$trained_by" quantize "$evil run" --type bf16 --json
harmless "$trained_by" data check text-small "$work/labelled.tsv"
harmless "$trained_by" data check text-small "$work/labelled.tsv" --json
expect 0 '"checksum"' data check bytes-small "$odd.txt" --json
for count in 9223372036854775807 1000000001; do
  expect 1 "expected 0 to 1000000000" data make listops --out "$work/made" --train $count
  expect 1 "expected 0 to 1000000000" data make pathfinder --out "$work/made" --count $count
done
output=$("$trained_by" data make listops --out "$work/made" --train 99999999999999999999 2>&1)
[ $? != 0 ] && ! grep -q unexpected <<<"$output" || failed "a count beyond 2^63: $output"

echo "$failures failures"
[ "$failures" = 0 ]
