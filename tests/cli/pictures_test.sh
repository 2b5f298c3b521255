# Pictures on the command line: train, the report, eval at another size, saliency; files that are no pictures, or hardly.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
mega_run=$2
export OMP_WAIT_POLICY=passive

# bright NAME HALF: a picture of 8 by 8 pixels whose left or right half is bright.
bright() {
  local row="200 40" y
  if [ "$2" = right ]; then row="40 200"; fi
  {
    echo "P3 8 8 255"
    for y in 1 2 3 4 5 6 7 8; do
      for value in $row; do for _ in 1 2 3 4; do echo "$((value + (y * $3) % 40)) $value $((value - 20))"; done; done
    done
  } >"$1"
}
for half in left right; do
  mkdir -p "$work/halves/train/$half" "$work/halves/test/$half"
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do bright "$work/halves/train/$half/$i.ppm" $half $i; done
  for i in 13 14 15; do bright "$work/halves/test/$half/$i.ppm" $half $i; done
done
small=(--set input.height=8 --set input.width=8 --set model.patch=4 --set model.layers=1 --set model.block.width=8
  --set model.block.values=16 --set model.block.shared=8 --set model.block.hidden=16 --set train.batch=8
  --set train.warmup=0 --updates 30 --set train.evaluate=15u --threads 1)
run=$work/run
expect 0 "test accuracy" train picture-small --data "$work/halves" --out "$run" "${small[@]}" --set data.threads=2
grep -qF "<dt>waiting for data</dt>" "$run/report.html" || failed "the report does not say how long it waited"
grep -qF "src=\"data:image/png;base64," "$run/report.html" || failed "the report has no pictures"
grep -qF '"waiting":' "$run/metrics.jsonl" || failed "no share of waiting in the log"
grep -qF '"threads"' "$run/recipe.json" || failed "data.threads is not in the recipe"
expect 0 '"accuracy"' eval "$run" --json
expect 0 "6 test examples" eval "$run" --set input.height=12 --set input.width=16
expect 0 "6 test examples" eval "$run" --set input.crop=0.875 --set input.filter=bicubic --set data.threads=1

# Saliency: a PNG file beside the answers; not of other models, and not without libtorch.
photo=$work/halves/test/left/13.ppm
expect 0 "left" predict "$run" "$photo" --saliency "$work/overlay.png"
[ "$(head -c 4 "$work/overlay.png" | tail -c 3)" = PNG ] || failed "no PNG file"
expect 0 "15.ppm" predict "$run" "$work/halves/test" --saliency "$work/all.png" --json
[ "$(wc -c <"$work/all.png")" -gt "$(wc -c <"$work/overlay.png")" ] || failed "a sheet of six pictures is not larger"
letters=$(dirname "$0")/../compatibility/0.1/models/classifier-bytes.safetensors
expect 1 "for models of pictures" predict "$letters" --text ab --saliency "$work/x.png"
[ ! -e "$work/x.png" ] || failed "a picture of a text"
if "$mega_run" predict "$run" "$photo" --saliency "$work/x.png" >"$work/out" 2>&1; then failed "mega-run has no gradients"; fi

# Files that are no pictures, or not what their name says: an error with the path, or a line that says so.
odd=$work/odd
mkdir "$odd"
: >"$odd/empty.jpg"
echo "not a picture" >"$odd/text.png"
printf 'GIF89a\1\0\1\0' >"$odd/film.gif"
head -c 100 "$photo" >"$odd/cut.ppm"
printf 'P5 20000 20000 255\n' >"$odd/promises.pgm"
printf 'P2 1 1 65535 40000' >"$odd/sixteen-bits.pgm"
cp "$photo" "$odd/really-ppm.jpg"
for name in empty.jpg text.png film.gif cut.ppm promises.pgm; do
  expect 1 "$odd/$name" predict "$run" "$odd/$name"
done
"$mega" predict "$run" "$odd"/* --set data.skip_broken=true >"$work/out" 2>"$work/notes"
[ "$(grep -cF ' %' "$work/out")" = 2 ] || failed "two of the odd files are pictures: $(cat "$work/out")"
grep -qF "5 of 7 inputs cannot be read" "$work/notes" || failed "no word on what cannot be read: $(cat "$work/notes")"

# Benchmarks.
expect 0 "pictures/s per core" bench images --preset picture-small --batch 2 --repeats 1
expect 0 "all augmentation" bench images --preset picture-small --data "$work/halves" --batch 2 --repeats 1 --json -
expect 1 "needs a preset of a model of pictures" bench images --preset text-small
expect 0 "training step picture-small" bench step --preset picture-small --batch 2 --repeats 1

echo "$failures failures"
[ "$failures" = 0 ]
