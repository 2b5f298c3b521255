# predict and quantize with a model of pictures, without libtorch: from picture files to answers. The model is one of the
# released program.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
import=$(realpath "$1") mega=$(realpath "$2") terminal=$(realpath "$3")
cd "$work" || exit 1
printf '%s\n' ant bee cat dog elk fox gnu >classes.txt
"$import" import "$tests/checkpoints/image/model.pt" --classes classes.txt --out model.safetensors >/dev/null ||
  failed "the model cannot be imported"
model=model.safetensors

# picture NAME WIDTH HEIGHT LETTER: a picture whose pixels all have this byte in each colour.
picture() {
  mkdir -p "$(dirname "$1")"
  { printf 'P6 %d %d 255\n' "$2" "$3" && head -c $((3 * $2 * $3)) /dev/zero | tr '\0' "$4"; } >"$1"
}
predict() { "$mega" predict "$model" "$@" 2>notes; }
lines() { wc -l | tr -d ' '; }
same() { [ "$2" = "$3" ] || failed "$1: \"$2\" instead of \"$3\""; }
answers() { sed 's/.*"classes"/"classes"/'; }

picture photos/a.ppm 24 24 a
picture photos/b.ppm 100 30 Q
picture photos/sub/c.ppm 31 77 z
all=(photos/a.ppm photos/b.ppm photos/sub/c.ppm)

# A line for each picture: files, folders and patterns alike, whatever the number of threads.
predict "${all[@]}" >files.txt || failed "files: $(cat notes)"
same "files" "$(lines <files.txt)" 3
head -n 1 files.txt | grep -qE $'^photos/a.ppm(\t[a-z]{3} [0-9.]+ %){5}$' || failed "not the five likeliest: $(head -n 1 files.txt)"
same "a folder" "$(predict photos)" "$(cat files.txt)"
same "a pattern" "$(predict 'photos/*.ppm' 'photos/s?b/*')" "$(cat files.txt)"
same "one thread" "$(predict "${all[@]}" --threads 1)" "$(cat files.txt)"
same "one by one" "$(for file in "${all[@]}"; do predict "$file"; done)" "$(cat files.txt)"
same "standard input" "$(predict - <photos/b.ppm | cut -f 2-)" "$(sed -n 2p files.txt | cut -f 2-)"
same "--top" "$(predict --top 1 photos/a.ppm | awk -F '\t' '{ print NF }')" 2
predict "${all[@]}" --json >files.jsonl
same "JSON" "$(grep -cE '^\{"input":"photos/[a-z./]+",.*"classes":\[(\{"class":"[a-z]+","probability":[-0-9.e]+\},?){5}\]\}$' files.jsonl)" 3
same "many" "$(for i in 1 2 3 4 5 6 7 8 9; do printf '%s\n' "${all[@]}"; done | xargs "$mega" predict "$model" --json | answers)" \
  "$(for i in 1 2 3 4 5 6 7 8 9; do answers <files.jsonl; done)"

# Broken ones have a line, in their place, and do not stop the others.
head -c 50 photos/a.ppm >broken.ppm
: >empty.jpg
predict photos/a.ppm broken.ppm missing.png empty.jpg photos/b.ppm >out.txt
same "status with broken pictures" $? 1
same "lines with broken pictures" "$(cut -f 1 out.txt)" 'photos/a.ppm
broken.ppm
missing.png
empty.jpg
photos/b.ppm'
same "answers beside broken pictures" "$(sed -n '1p;5p' out.txt)" "$(sed -n '1,2p' files.txt)"
sed -n 4p out.txt | grep -qF '(the file is empty)' || failed "an empty file: $(sed -n 4p out.txt)"
sed -n 2p out.txt | grep -qF 'broken.ppm: ' && failed "the path twice: $(sed -n 2p out.txt)"
grep -qF "3 of 5 inputs cannot be read" notes || failed "no word on broken pictures: $(cat notes)"
same "parts" "$(for i in 1 2 3 4; do predict photos/a.ppm broken.ppm missing.png empty.jpg photos/b.ppm --shard $i/4; done)" \
  "$(cat out.txt)"
same "parts of a folder" "$(predict photos --shard 1/2 && predict photos --shard 2/2)" "$(cat files.txt)"
predict --json broken.ppm photos/a.ppm | head -n 1 | grep -qF '{"input":"broken.ppm","classes":null,"problem":"' ||
  failed "no problem in the JSON"
expect 0 "1 of 2 inputs cannot be read" predict $model broken.ppm photos/a.ppm --set data.skip_broken=true
mkdir mixed && cp photos/a.ppm broken.ppm mixed && predict mixed >out.txt
same "status of a folder with a broken picture" $? 1
same "lines of a folder with a broken picture" "$(lines <out.txt)" 2
expect 1 "nothing.png" predict $model nothing.png

# At a terminal: bars, in at most 80 columns.
for columns in 40 80 132; do
  "$terminal" $columns "$mega" predict $model photos/a.ppm 2>/dev/null | tr -d '\r' >screen
  same "lines on $columns columns" "$(lines <screen)" 6
  same "the name before the bars" "$(head -n 1 screen)" photos/a.ppm
  sed -n 2p screen | grep -qE '^  [a-z]{3} +[0-9.]+ %  =+$' || failed "no bar on $columns columns: $(sed -n 2p screen)"
  width=$(wc -L <screen)
  [ "$width" -le $((columns < 80 ? columns : 80)) ] || failed "$width columns on a terminal of $columns"
done

# Smaller files, and what they cost in accuracy.
for class in ant bee; do
  for i in 1 2 3 4; do picture "labelled/test/$class/$i.ppm" $((20 + i)) 25 "$(printf %s "$class$i" | tail -c 1)"; done
done
for type in int8 bf16; do
  "$import" quantize $model --type $type --data labelled >out.txt 2>&1 || failed "quantize --type $type: $(cat out.txt)"
  grep -qE '^accuracy +[0-9.]+ %' out.txt || failed "no accuracy of $type: $(cat out.txt)"
  grep -qF "same most likely class in" out.txt || failed "no agreement of $type: $(cat out.txt)"
  predict() { "$mega" predict "model-$type.safetensors" "$@" 2>notes; }
  same "answers of $type" "$(predict "${all[@]}" | lines)" 3
done

echo "$failures failures"
[ "$failures" = 0 ]
