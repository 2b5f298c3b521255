# A data set that does not fit into the memory allowed is trained and evaluated as one that does.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive MEGA_CACHE=$work/cache

cat >"$work/tiny.toml" <<'END'
[model]
kind = "classifier"
vocabulary = 320
classes = 2
layers = 1
head = 16
[model.block]
width = 16
values = 32
shared = 8
hidden = 32
chunk = 32
[model.block.ema]
dimension = 4
[input]
kind = "text"
max_length = 32
[data]
format = "text"
evaluation_limit = 40
[train]
learning_rate = 1e-2
updates = 20
batch = 8
evaluate = "10u"
checkpoint = "0"
END
sum() { sha256sum <"$1" | cut -d ' ' -f 1; }

# same NAME PATH: contents in memory or on disk, the model is the same to the bit, and so is what it is worth.
same() {
  expect 0 "test accuracy" train "$work/tiny.toml" --data "$2" --threads 1 --out "$work/$1-held"
  expect 0 "test accuracy" train "$work/tiny.toml" --data "$2" --threads 1 --out "$work/$1-read" --set data.memory=0
  [ "$(sum "$work/$1-held/model.safetensors")" = "$(sum "$work/$1-read/model.safetensors")" ] ||
    failed "$1: another model when examples are read from disk"
  local held read
  held=$("$mega" eval "$work/$1-held" --json 2>/dev/null | grep -v second)
  read=$("$mega" eval "$work/$1-held" --json --set data.memory=0 2>/dev/null | grep -v second)
  if [ -z "$held" ] || [ "$held" != "$read" ]; then failed "$1: evaluated as $held and as $read"; fi
}

mkdir -p "$work/folder/a" "$work/folder/b"
for i in $(seq 100); do
  echo "number $i, and what is beyond" >"$work/folder/a/$i.txt"
  echo "another $i" >"$work/folder/b/$i.txt"
done
same folder "$work/folder"
[ ! -e "$work/cache/examples" ] || failed "files were copied that can be read again"
for class in a b; do
  for i in $(seq 200); do printf '%s\tclass %s, row %s\n' $class $class "$i"; done
done | gzip >"$work/table.tsv.gz"
same table "$work/table.tsv.gz"
[ -z "$(ls -A "$work/cache/examples")" ] || failed "a temporary file was left behind"

# What is wrong is said, and what to do.
expect 1 "data.memory" train "$work/tiny.toml" --data "$work/table.tsv.gz" --out "$work/x" --set data.memory=-2
(
  export MEGA_CACHE=$work/tiny.toml
  expect 1 "set MEGA_CACHE" train "$work/tiny.toml" --data "$work/table.tsv.gz" --out "$work/x" --set data.memory=0
  exit "$failures"
) || failures=$((failures + 1))

# Small files are many: each costs little beyond its bytes.
mkdir -p "$work/many/a" "$work/many/b"
seq 50000 | split -l 1 -a 5 -d --additional-suffix=.txt - "$work/many/a/"
seq 50001 100000 | split -l 1 -a 5 -d --additional-suffix=.txt - "$work/many/b/"
output=$(ulimit -v 1000000 && "$mega" data check text-small "$work/many" --set input.units=bytes \
  --set model.vocabulary=264 --json 2>&1) || failed "100,000 files in 1 GB: $output"
grep -qF '"problems": 0' <<<"$output" || failed "100,000 files: $output"
rm -r "$work/many"

# Under ulimit -v: a table of 800 MB in a process that may have 300 MB more than it needs for a small one.
"$mega" train "$work/tiny.toml" --data "$work/table.tsv.gz" --threads 1 --out "$work/small" \
  --set train.updates=300 >/dev/null 2>&1 &
peak=0
while [ -r /proc/$!/status ]; do
  now=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\).*/\1/p' /proc/$!/status 2>/dev/null)
  if [ -n "$now" ] && [ "$now" -gt $peak ]; then peak=$now; fi
  sleep 0.05
done
wait $!
echo "a small run takes $peak kB of addresses"
awk 'BEGIN {
  for (k = 0; k < 12500; ++k) text = text " padding"
  for (i = 0; i < 8000; ++i) print (i % 2 ? "a" : "b") "\t" (i % 2 ? "some " : "more ") i text
}' | gzip -1 >"$work/large.tsv.gz"
limited() {
  (
    ulimit -v $((peak + 300000))
    "$mega" train "$work/tiny.toml" --data "$work/large.tsv.gz" --threads 1 --out "$work/$1" --set "data.memory=$2" 2>&1
  )
}
output=$(limited fits 100000000) || failed "a data set larger than the memory: $output"
grep -q "test accuracy" <<<"$output" || failed "no accuracy: $output"
if output=$(limited not 1000000000000); then failed "800 MB fitted into 300 MB: $output"; fi

echo "$failures failures"
[ "$failures" = 0 ]
