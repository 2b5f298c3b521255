# Several models side by side: one report, going on where it was stopped, and what is refused.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tiny_run.sh"

compare=(compare "$work/tiny.toml" --data "$work/data" --threads 1)
expect 0 "report  $work/two/comparison.html" "${compare[@]}" --models mega,mega-full,lstm --updates 10 --seeds 1,2 --out "$work/two"
for model in mega mega-full lstm; do
  for seed in 1 2; do
    [ -s "$work/two/$model-seed-$seed/result.json" ] || failed "no run of $model with seed $seed"
  done
  grep -q "| $model " "$work/two/comparison.md" || failed "$model is not in the table"
  grep -q "$model" "$work/two/comparison.html" || failed "$model is not in the report"
done
grep -q -- "--threads 1" "$work/two/comparison.md" || failed "the report leaves out --threads"
grep -q '"kind": "lstm"' "$work/two/lstm-seed-1/recipe.json" || failed "lstm-seed-1 is no LSTM"
grep -q '"chunk": -1' "$work/two/mega-full-seed-1/recipe.json" || failed "mega-full-seed-1 is in chunks"
grep -q '"baseline": false' "$work/two/mega-seed-1/recipe.json" || failed "each run fits the linear baseline anew"
grep -q '"metric": "accuracy"' "$work/two/comparison.json" || failed "comparison.json names no metric"

# Full attention has positions for the whole input, with its class token, unless they were chosen.
expect 0 "accuracy" "${compare[@]}" --models mega-full --vary model.block.chunk=8,-1 --updates 2 \
  --set input.max_length=1040 --set model.pooling=cls --out "$work/positions"
for run in mega-full chunk=-1; do
  grep -q '"max_positions": 1041' "$work/positions/$run-seed-1/recipe.json" || failed "$run lacks positions"
done
grep -q '"max_positions": 1024' "$work/positions/chunk=8-seed-1/recipe.json" || failed "chunk=8 has other positions"
expect 0 "accuracy" "${compare[@]}" --models mega-full --updates 2 --set model.block.max_positions=2000 \
  --out "$work/chosen"
grep -q '"max_positions": 2000' "$work/chosen/mega-full-seed-1/recipe.json" || failed "chosen positions were changed"

# Chunks that the user chose stay; where there is full attention, mega-chunk has the usual ones.
expect 0 "accuracy" "${compare[@]}" --models mega-chunk --updates 2 --set model.block.chunk=8 --out "$work/chunk"
grep -q '"chunk": 8' "$work/chunk/mega-chunk-seed-1/recipe.json" || failed "chosen chunks were changed"
expect 0 "accuracy" "${compare[@]}" --models mega-chunk --updates 2 --set model.block.chunk=-1 --out "$work/usual"
grep -q '"chunk": 128' "$work/usual/mega-chunk-seed-1/recipe.json" || failed "mega-chunk is not in chunks"

# The report's command can be pasted into a shell.
odd="$work/it's here"
expect 0 "accuracy" "${compare[@]}" --models mega --updates 2 --out "$odd"
command=$(grep '^mega compare' "$odd/comparison.md")
eval "set -- $command"
[ "${*: -1}" = "$odd" ] || failed "the report's command is not one for a shell: $command"

# Finished runs are kept; models can be added, other settings not.
before=$(stat -c %Y.%i "$work/two/mega-seed-1/model.safetensors")
expect 0 "transformer" "${compare[@]}" --models mega,transformer --updates 10 --seeds 1,2 --out "$work/two"
[ "$before" = "$(stat -c %Y.%i "$work/two/mega-seed-1/model.safetensors")" ] || failed "a finished run was repeated"
expect 1 "another --updates" "${compare[@]}" --updates 20 --out "$work/two"

# One option of the recipe's own model at a time.
expect 0 "chunk=-1" "${compare[@]}" --vary model.block.chunk=4,-1 --updates 5 --seeds 1,2 --out "$work/varied"
grep -q '"chunk": 4' "$work/varied/chunk=4-seed-2/recipe.json" || failed "chunk=4 has other chunks"
[ -e "$work/varied/mega-seed-1" ] && failed "models that nobody named were trained"
grep -q "chunk=4" "$work/varied/over-updates.svg" || failed "no chart over updates"
for wrong in model.block.chunk model.block.chunk= =4; do
  expect 1 "KEY=VALUE" "${compare[@]}" --vary "$wrong" --out "$work/refused"
done
expect 1 "did you mean model.block.chunk?" "${compare[@]}" --vary model.block.chunks=4 --out "$work/refused"

# The learning rate: three at least, the one with the least loss on validation examples.
expect 0 "rate" "${compare[@]}" --models mega --updates 5 --tune 2s --out "$work/tuned"
[ "$(grep -c '"learning_rate"' "$work/tuned/comparison.json")" -ge 4 ] || failed "no search: $(cat "$work/tuned/comparison.json")"
[ "$(grep -c '"valid_loss": [0-9]' "$work/tuned/comparison.json")" -ge 3 ] || failed "a search without losses"
[ "$(grep -c '| *[0-9.]* | *[0-9.]* | *[1-9][0-9,]* |$' "$work/tuned/comparison.md")" -ge 3 ] || failed "no updates of the search"
for log in "$work"/tuned/mega-rate-*.log; do
  [ "$(grep -c 'valid accuracy .*loss' "$log")" = 1 ] || failed "a search that evaluates more than once: $log"
done

expect 0 "accuracy" "${compare[@]}" --models mega --updates 5 --set train.baseline=true --out "$work/linear"
grep -q '"baseline": true' "$work/linear/mega-seed-1/recipe.json" || failed "the user's own option does not count"

# Stopped, it goes on.
stopped=("${compare[@]}" --models mega --updates 400 --out "$work/stopped")
"$mega" "${stopped[@]}" >/dev/null 2>"$work/stderr" &
wait_for_checkpoint "$work/stopped/mega-seed-1"
kill -INT $!
wait $!
[ $? = 130 ] || failed "not 130 after SIGINT"
grep -q "the same command goes on" "$work/stderr" || failed "no word of going on: $(cat "$work/stderr")"
expect 0 "accuracy" "${stopped[@]}"
grep -q "resumed after update" "$work/stopped/mega-seed-1.log" || failed "it began again"

# What cannot be is refused before anything is trained; a model that fails does not take the others with it.
expect 1 "performer" "${compare[@]}" --models mega,no-such --out "$work/refused"
expect 1 "there twice" "${compare[@]}" --models mega,lstm,mega --out "$work/refused"
expect 1 "cannot take the place" "${compare[@]}" --models mega,transformer-xl --out "$work/refused"
expect 1 "warmup" "${compare[@]}" --updates 100 --set train.warmup=300 --out "$work/refused"
expect 1 "heads" "${compare[@]}" --models mega,performer --set model.kind=performer --set model.heads=3 --out "$work/refused"
expect 1 "expected a time" "${compare[@]}" --time 5u --out "$work/refused"
expect 1 "--seeds" "${compare[@]}" --seeds one --out "$work/refused"
expect 2 "recipe" compare
[ -e "$work/refused" ] && failed "a refused comparison left a folder"
expect 1 "failed: see" compare "$work/tiny.toml" --data "$work/nowhere" --updates 5 --models mega --out "$work/failing"
grep -q "nowhere" "$work/failing/mega-seed-1.log" || failed "the log does not say why"

[ $failures = 0 ]
