# data check: what looks wrong with data, and exit status 1 where train would stop.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
export MEGA_CACHE=$work/cache
bytes=(--set input.units=bytes --set model.vocabulary=264)
check() {
  local status=$1 text=$2 file=$3
  shift 3
  expect "$status" "$text" data check text-small "$work/$file" "${bytes[@]}" "$@"
}

# rows COUNT: so many examples of two classes, with semicolons.
rows() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s;the text, of number %d\n", i % 2 ? "good" : "bad", i }'; }

{ echo "label;text" && rows 100; } >"$work/good.csv"
check 0 "format text" good.csv
"$mega" data check text-small "$work/good.csv" "${bytes[@]}" 2>&1 | grep -q warning && failed "a warning about good data"
"$mega" data check text-small "$work/good.csv" "${bytes[@]}" --json | grep -qF '"warnings": []' || failed "no warnings in JSON"
"$mega" data check text-small "$work/good.csv" "${bytes[@]}" --json | grep -qF '"refusal": null' || failed "a refusal in JSON"

{ echo "mood;comment" && rows 100; } >"$work/header.csv"
check 0 "warning: header.csv:1: the first line looks like a header" header.csv
check 0 "format text" header.csv --set data.header=yes --set data.label_column=mood
{ echo "label;text" && rows 100 | awk '{ printf "u%d%s\n", NR, $0 }'; } >"$work/ids.csv"
check 0 "100 classes for 100 examples" ids.csv
{ echo "label;text" && rows 100 && echo "rare;once"; } >"$work/rare.csv"
check 0 "1 class has a single example (\"rare\")" rare.csv
{ echo "label;text" && rows 100 | sed 's/^good/0.5/; s/^bad/1.5/'; } >"$work/numbers.csv"
check 0 "--set model.objective=regression" numbers.csv
check 0 "no test examples" good.csv --set data.test_share=0

# What train would stop at.
{ echo "label;text" && rows 100 | sed 's/^bad/good/'; } >"$work/one.csv"
check 1 "would stop: all examples belong to one class" one.csv
check 1 "all examples have the label \"good\"" one.csv
"$mega" data check text-small "$work/one.csv" "${bytes[@]}" --json 2>/dev/null | grep -qF '"refusal": "all examples belong' ||
  failed "no refusal in JSON"
{ cat "$work/good.csv" && echo "torn"; } >"$work/torn.csv"
check 1 "would stop: 1 example cannot be used" torn.csv
check 0 "torn.csv:102" torn.csv --set data.skip_broken=true
{ echo "label;text" && rows 100 | sed 's/;.*/;/'; } >"$work/empty.csv"
check 1 "the text is empty" empty.csv
check 1 "no such file" none.csv
check 1 "no column \"stars\"" good.csv --set data.label_column=stars --set data.header=yes

# Pictures, as they are and as a model sees them.
for class in cat dog; do
  mkdir -p "$work/photos/$class"
  for i in 1 2 3 4 5 6; do
    { printf 'P6 20 12 255\n' && head -c 720 /dev/zero | tr '\0' "\\$((100 + i))"; } >"$work/photos/$class/$i.ppm"
  done
done
show=(data show image-small "$work/photos" --out "$work/sheet.png" --set input.channels=3)
expect 0 "sheet.png: 4 training pictures" "${show[@]}" --count 4 --set augment.image.crop=true --set augment.image.mixup=0.8
[ "$(head -c 4 "$work/sheet.png" | tail -c 3)" = PNG ] || failed "no PNG file"
expect 1 "augment.image: is for input.kind = image" data show text-small "$work/good.csv" --out "$work/x.png" \
  "${bytes[@]}" --set augment.image.flip=0.5
expect 1 "only pictures can be shown" data show text-small "$work/good.csv" --out "$work/x.png" "${bytes[@]}"
[ ! -e "$work/x.png" ] || failed "a sheet of texts"

echo "$failures failures"
[ "$failures" = 0 ]
