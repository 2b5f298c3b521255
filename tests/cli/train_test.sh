# Training on the command line: train, eval, predict, interruptions of every kind, and resuming.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"
sed -i 's/^norm = .*/dropout = 0.1/; s/^learning_rate = .*/learning_rate = 1e-2/; s/^updates = .*/updates = 40/
  s/^batch = .*/batch = 16\naverage = 0.9/; s/^evaluate = .*/evaluate = "20u"/; s/^checkpoint = .*/checkpoint = "10u"/' "$work/tiny.toml"
sum() { sha256sum <"$1" | cut -d ' ' -f 1; }

# train, eval, predict
expect 0 "test accuracy" "${train[@]}" --out "$work/whole"
for file in model.safetensors report.html metrics.jsonl recipe.json result.json; do
  [ -s "$work/whole/$file" ] || failed "no $file"
done
expect 0 "accuracy" eval "$work/whole"
cp "$work/data/basic_test.tsv" "$work/others.tsv"
expect 0 "40 test examples" eval "$work/whole" --data "$work/others.tsv"
expect 0 '"accuracy"' eval "$work/whole/model.safetensors" --split valid --json
expect 0 "%" predict "$work/whole" --text "[MAX 1 2 ]" --text "[MIN 3 4 ]"
expect 0 '"probability"' predict "$work/whole" --json --top 2 --text "[MAX 1 2 ]"
printf '[MAX 1 2 ]\n[SM 3 4 ]\n[MIN 3 4 ]\n' >"$work/three.txt"
lines=$("$mega" predict "$work/whole" <"$work/three.txt" 2>/dev/null | wc -l)
[ "$lines" = 3 ] || failed "$lines predictions of 3 lines from a pipe"
lines=$("$mega" predict "$work/whole" --lines "$work/three.txt" 2>/dev/null | wc -l)
[ "$lines" = 3 ] || failed "$lines predictions of 3 lines from a file"
expect 0 "three.txt" predict "$work/whole" "$work/three.txt"

# The same for a baseline.
expect 0 "test accuracy" "${train[@]}" --out "$work/transformer" --set model.kind=transformer --set train.updates=5
expect 0 "accuracy" eval "$work/transformer"
expect 0 "%" predict "$work/transformer" --text "[MAX 1 2 ]"

# And for all others: one command, at any length that the recipe reads.
cp -r "$work/data" "$work/longer"
expression="[MAX$(printf ' 1%.0s' $(seq 1100)) ]"
sed -i "2s/.*/$expression\t1/" "$work"/longer/basic_*.tsv
long=(train "$work/tiny.toml" --data "$work/longer" --threads 1 --updates 2)
for kind in performer linformer bigbird reformer luna flash s4 s4d lstm; do
  expect 0 "test accuracy" "${long[@]}" --out "$work/kind-$kind" --set model.kind=$kind --set input.max_length=1200
done
expect 0 "test accuracy" "${long[@]}" --out "$work/full" --set model.block.chunk=-1 --set input.max_length=1200
expect 1 "1024" "${long[@]}" --out "$work/chosen" --set model.kind=linformer --set input.max_length=1200 --set model.max_positions=1024
expect 1 "transformer-xl" "${long[@]}" --out "$work/kind" --set model.kind=no-such

# A run that has begun keeps its model, also one for shorter inputs than it would have now.
expect 0 "test accuracy" "${train[@]}" --out "$work/short" --updates 5 --set model.block.chunk=-1 --set model.block.max_positions=40
expect 0 "resumed after update" train --resume --out "$work/short" --set train.updates=8
grep -q '"max_positions": 40' "$work/short/recipe.json" || failed "a resumed run has other positions"

# What is not read is said.
expect 0 "longer ones are cut to their beginning" "${train[@]}" --out "$work/cut" --set input.max_length=8 --updates 3
expect 0 "are longer than what the model reads" eval "$work/cut"
expect 0 '"cut": ' eval "$work/cut" --json
expect 0 '"cut": 0' eval "$work/whole" --json

# Texts in pieces, learnt from the training examples.
for i in $(seq 20); do printf 'a\tgood %d\nb\tbad %d\n' "$i" "$i"; done >"$work/labelled.tsv"
pieces=(text-small --data "$work/labelled.tsv" --threads 1 --set model.layers=1 --set train.updates=3 --set train.warmup=0)
expect 0 "token types" train "${pieces[@]}" --out "$work/pieces"
expect 0 "accuracy" eval "$work/pieces" --split train
expect 0 "%" predict "$work/pieces" --text "good 3"
expect 0 "format text" data check text-small "$work/labelled.tsv"
mkdir "$work/only" && cp "$work/labelled.tsv" "$work/only/test.tsv"
expect 1 "40" data check text-small "$work/only"
expect 1 "\`mega train\` would stop: there are no training examples" data check text-small "$work/only"
printf 'a\tx\nb\n' | cat "$work/labelled.tsv" - >"$work/torn.tsv"
expect 1 "would stop: 1 example cannot be used" data check text-small "$work/torn.tsv"
expect 0 "cannot be used" data check text-small "$work/torn.tsv" --set data.skip_broken=true
{ printf 'stars\tcomments\n'; sed 's/^a/1/; s/^b/2/' "$work/labelled.tsv"; } >"$work/header.tsv"
expect 0 "warning: header.tsv:1: the first line looks like a header" data check text-small "$work/header.tsv"
printf 'a\t\nb\t\n' >"$work/broken.tsv"
expect 1 "broken.tsv:1: the label is empty" data check text-small "$work/broken.tsv"
env PATH=/nonexistent "$mega" train "${pieces[@]}" --out "$work/x" >"$work/missing.log" 2>&1 &&
  failed "pieces were learnt without spm_train"
grep -q "install the package sentencepiece.*--set input.units=bytes" "$work/missing.log" ||
  failed "no word on how to get on without spm_train: $(cat "$work/missing.log")"

expect 0 "2 seeds: accuracy" "${train[@]}" --out "$work/seeds" --seeds 1..2 --set train.updates=5
[ -s "$work/seeds/seed-2/model.safetensors" ] || failed "no model for the second seed"

# A run that is killed repeatedly at any moment and resumed ends bit-identical to an uninterrupted one.
long=("${train[@]}" --set train.updates=1200 --set train.evaluate=100u --set train.checkpoint=20u)
"$mega" "${long[@]}" --out "$work/long" >"$work/long.log" 2>&1 || failed "the long run: $(cat "$work/long.log")"
for moment in 0.9 0.02 0.11 0.05 0.17; do
  before=$(newest "$work/killed" 2>/dev/null)
  "$mega" "${long[@]}" --out "$work/killed" --resume >>"$work/killed.log" 2>&1 &
  # The first time before the first checkpoint, later shortly after a new one.
  if [ $moment != 0.9 ]; then
    for _ in $(seq 400); do
      if [ "$(newest "$work/killed" 2>/dev/null)" != "$before" ]; then break; fi
      sleep 0.02
    done
  fi
  sleep $moment
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
done
grep -q "resumed after update" "$work/killed.log" || failed "no killed run was resumed: $(cat "$work/killed.log")"
expect 0 "test accuracy" "${long[@]}" --out "$work/killed" --resume
[ "$(basename "$(newest "$work/killed")")" = 00001200 ] || failed "the killed run ended at $(newest "$work/killed")"
for file in model.safetensors checkpoints/00001200/model.safetensors; do
  [ "$(sum "$work/long/$file")" = "$(sum "$work/killed/$file")" ] || failed "$file differs after kills"
done

# begin RUN: starts training in the background (its PID is $!) and returns after the first checkpoint.
begin() {
  "$mega" "${train[@]}" --out "$1" --set train.updates=1000000 --set train.evaluate=0 >"$1.log" 2>&1 &
  wait_for_checkpoint "$1"
  [ -n "$(newest "$1")" ] || failed "no checkpoint of $1: $(cat "$1.log")"
}
for signal in INT:130 TERM:143 HUP:129; do
  run=$work/${signal%:*}
  begin "$run"
  kill -s "${signal%:*}" $!
  wait $!
  status=$?
  [ $status = "${signal#*:}" ] || failed "status $status after SIG${signal%:*}: $(cat "$run.log")"
  stopped=$((10#$(basename "$(newest "$run")")))
  grep -q "stopped; resume with: mega train --resume --out" "$run.log" || failed "no message on how to resume"
  expect 0 "resumed after update" train --resume --out "$run" --set train.updates=$((stopped + 1))
done
# Two signals at once are one event, as from `timeout` and from a terminal that is closed; later it is impatience.
for signal in TERM:143 HUP:129; do
  run=$work/twice-${signal%:*}
  begin "$run"
  kill -s "${signal%:*}" $! && kill -s "${signal%:*}" $! 2>/dev/null
  wait $!
  status=$?
  [ $status = "${signal#*:}" ] || failed "status $status after two signals"
  grep -q "stopped; resume with: mega train" "$run.log" || failed "no checkpoint after two signals: $(cat "$run.log")"
done
timeout 600 "$mega" "${train[@]}" --out "$work/timeout" --set train.updates=1000000 >"$work/timeout.log" 2>&1 &
wait_for_checkpoint "$work/timeout"
kill -TERM $! # which it passes on as if the time were up
wait $!
grep -q "stopped; resume with: mega train" "$work/timeout.log" || failed "no checkpoint after timeout: $(cat "$work/timeout.log")"
# Nobody reads the output any more.
"$mega" "${train[@]}" --out "$work/pipe" --set train.updates=1000000 2>&1 >/dev/null | grep -qm 1 "update 20"
status=${PIPESTATUS[0]}
[ "$status" = 141 ] || failed "status $status after a closed pipe"
expect 0 "resumed after update" train --resume --out "$work/pipe" --set train.updates=1000
# Files that may not grow.
(failures=0 && ulimit -f 8 && expect 1 "files may have at most 8.0 KiB here (ulimit -f)" "${train[@]}" --out "$work/small-files" &&
  expect 1 "File too large" data make listops --out "$work/small" --train 10000 && exit "$failures") ||
  failed "limited size of files"

# A run whose checkpoints are all damaged is left alone; --restart starts over.
cp -r "$work/whole" "$work/damaged"
for checkpoint in "$work/damaged/checkpoints"/*; do truncate -s -1 "$checkpoint/training.safetensors"; done
before=$(sum "$work/damaged/model.safetensors")
expect 1 "there is no checkpoint to resume from" train --resume --out "$work/damaged"
expect 1 "training.safetensors" train --resume --out "$work/damaged"
expect 1 "--restart" "${train[@]}" --resume --out "$work/damaged"
[ "$(sum "$work/damaged/model.safetensors")" = "$before" ] || failed "a finished model was overwritten by --resume"
rm -r "$work/damaged/checkpoints"
expect 1 "there is no checkpoint to resume from" train --resume --out "$work/damaged"
[ "$(sum "$work/damaged/model.safetensors")" = "$before" ] || failed "a finished model was overwritten by --resume"
expect 0 "test accuracy" "${train[@]}" --restart --out "$work/damaged" --set train.updates=10
[ "$(sum "$work/damaged/model.safetensors")" != "$before" ] || failed "--restart left the old model"

# Errors.
expect 1 "holds a run already" "${train[@]}" --out "$work/whole"
expect 1 "did you mean" train lra-texd --data "$work/data"
expect 1 "name a preset" train
expect 1 "not a run directory" train --resume --out "$work/data"
expect 1 "nowhere" train "$work/tiny.toml" --data "$work/nowhere" --out "$work/x"
expect 1 "no data" train "$work/tiny.toml" --out "$work/x"
expect 1 "train.updates" "${train[@]}" --out "$work/x" --set train.updats=3
expect 1 "train.updates" "${train[@]}" --out "$work/x" --set train.updates=many
expect 1 "cannot create this folder" "${train[@]}" --out "$work/three.txt/x"
expect 1 "--seeds" "${train[@]}" --out "$work/x" --seeds few
expect 1 "time: expected a duration such as 90s" "${train[@]}" --out "$work/x" --time 5u
expect 1 "model.safetensors" eval "$work/data"
expect 2 "--split" eval "$work/whole" --split all
expect 1 "nothing.wav" predict "$work/whole" "$work/nothing.wav"
[ ! -e "$work/x" ] || failed "a run that failed to start left a folder behind"

echo "$failures failures"
[ "$failures" = 0 ]
