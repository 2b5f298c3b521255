# Sourced, after helpers.sh, by tests that train: a tiny model on tiny expressions, and a look at its runs.
export OMP_WAIT_POLICY=passive # small tensors: waiting threads must not spin

cat >"$work/tiny.toml" <<'TOML'
[model]
kind = "classifier"
vocabulary = 24
classes = 10
layers = 1
head = 16
[model.block]
width = 16
values = 32
shared = 8
hidden = 32
chunk = 32
norm = "batch"
[model.block.ema]
dimension = 4
[input]
kind = "text"
units = "listops"
[data]
format = "listops"
[train]
learning_rate = 1e-3
updates = 20
batch = 15
evaluate = "10u"
checkpoint = "5u"
baseline = false
TOML
expect 0 "" data make listops --out "$work/data" --train 200 --valid 40 --test 40 --depth 3 --arguments 3 \
  --min-length 4 --max-length 30
train=(train "$work/tiny.toml" --data "$work/data" --threads 1)
loss() { grep -o '"loss":[^,]*' "$1/metrics.jsonl" | tail -n 1 | cut -d : -f 2; }
newest() { find "$1/checkpoints" -mindepth 1 -maxdepth 1 -name '[0-9]*' | sort | tail -n 1; }
# close A B: equal to four digits
close() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 1e-4 && d > -1e-4) }'; }
# wait_for_checkpoint FOLDER
wait_for_checkpoint() {
  for _ in $(seq 1200); do [ -n "$(newest "$1" 2>/dev/null)" ] && break || sleep 0.1; done
}
# rank N WORLD_SIZE PORT COMMAND...: as a process of a run that is started by hand
rank() {
  env RANK="$1" WORLD_SIZE="$2" MASTER_ADDR=127.0.0.1 MASTER_PORT="$3" MEGA_TOKEN=secret MEGA_JOIN_SECONDS=20 "${@:4}"
}
