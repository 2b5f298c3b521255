# train, eval and predict see the same examples of a file in the same order, and eval and predict say the same of them.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export OMP_WAIT_POLICY=passive MEGA_CACHE=$work/cache
tiny=(--threads 1 --set model.layers=1 --set model.block.width=16 --set model.block.values=32 --set model.block.shared=8
  --set model.block.hidden=16 --set model.block.ema.dimension=4 --set train.warmup=1 --set train.batch=8
  --set train.evaluate=0 --set train.baseline=false --updates 30 --lr 0.01)

# same NAME PATH EXAMPLES PRESET OPTION...: trains on PATH; what eval and predict say of a copy of it is the same.
same() {
  local name=$1 path=$2 examples=$3 preset=$4 evaluated predicted
  shift 4
  expect 0 "test accuracy" train "$preset" --data "$path" --out "$work/run-$name" "${tiny[@]}" "$@"
  mkdir "$work/copy-$name" && cp -r "$path" "$work/copy-$name/"
  path=$work/copy-$name/$(basename "$path")
  expect 0 "$examples test examples" eval "$work/run-$name" --data "$path" --predictions "$work/$name.jsonl"
  # The place within the data, the label, and the likeliest class.
  evaluated=$(sed -E 's/^\{"input":"([^"]*)".*,"label":"([^"]*)","prediction":"([^"]*)".*/\1 \2 \3/' "$work/$name.jsonl")
  predicted=$("$mega" predict "$work/run-$name" "$path" --json |
    sed -E 's/^\{"input":"([^"]*)".*,"label":"([^"]*)","classes":\[\{"class":"([^"]*)".*/\1 \2 \3/')
  if [ -d "$path" ]; then predicted=${predicted//"$path/"/}; else predicted=${predicted//"$(dirname "$path")/"/}; fi
  [ "$(wc -l <<<"$evaluated")" = "$examples" ] || failed "$name: $(wc -l <<<"$evaluated") of $examples examples"
  [ "$evaluated" = "$predicted" ] || failed "$name: eval and predict differ: $(diff <(echo "$evaluated") <(echo "$predicted"))"
  [ "$(cut -d ' ' -f 3 <<<"$evaluated" | sort -u | wc -l)" -gt 1 ] || failed "$name: one class only, which shows nothing"
}

# Texts: quoted cells with line breaks, quotes and commas, as csv and as jsonl; and a file each.
bytes=(--set input.units=bytes --set model.vocabulary=264)
mkdir -p "$work/folder/a" "$work/folder/b"
echo "id,label,text" >"$work/texts.csv"
for i in $(seq 40); do
  printf '%d,a,"good,\nand ""fine"" %d"\n%d,b,bad %d\n' "$i" "$i" "$((100 + i))" "$i" >>"$work/texts.csv"
  printf '{"label": "a", "text": "good,\\nand \\"fine\\" %d"}\n{"text": "bad %d", "label": "b"}\n' "$i" "$i" >>"$work/texts.jsonl"
  printf 'good,\nand "fine" %d' "$i" >"$work/folder/a/$i.txt"
  echo "bad $i" >"$work/folder/b/$i.txt"
done
same csv "$work/texts.csv" 80 text-small "${bytes[@]}"
same jsonl "$work/texts.jsonl" 80 text-small "${bytes[@]}"
same folder "$work/folder" 80 text-small "${bytes[@]}"
# The first row's line, and that of the row after its line break.
[ "$(head -n 2 "$work/csv.jsonl" | cut -d , -f 1)" = '{"input":"texts.csv:2"
{"input":"texts.csv:4"' ] || failed "places in csv: $(head -n 2 "$work/csv.jsonl")"

# Series: an array, and a table with the label before the values (UCR).
series() { awk 'BEGIN { for (i = 0; i < 40; ++i) for (k = 0; k < 8; ++k) printf "%c", 40 + (i % 2 ? 5 * k : 35 - 5 * k) + i % 4 }'; }
npy() { # FILE SHAPE: bytes of standard input as an array of int8
  { printf '\x93NUMPY\x01\x00v\x00%-117s\n' "{'descr': '|i1', 'fortran_order': False, 'shape': ($2), }" && cat; } >"$1"
}
mkdir "$work/arrays"
series | npy "$work/arrays/X.npy" "40, 8"
awk 'BEGIN { for (i = 0; i < 40; ++i) printf "%c", 49 + i % 2 }' | npy "$work/arrays/y.npy" "40,"
series | od -An -v -tu1 -w8 | awk '{ printf "%d", 1 + (NR - 1) % 2; for (i = 1; i <= NF; ++i) printf "\t%d", $i; print "" }' \
  >"$work/ucr.tsv"
same npy "$work/arrays" 40 series-small
same ucr "$work/ucr.tsv" 40 series-small

echo "$failures failures"
[ "$failures" = 0 ]
