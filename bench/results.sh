#!/usr/bin/env bash
# The table of docs/results.md: Mega and a Transformer of equal size, side by side, each on one core for the same time.
# Finished runs are not repeated; interrupted ones resume.
#
#   bench/results.sh [--time 10m] [--tune 5m] [--out runs/results] [--data FOLDER] [TASK...]
#
# FOLDER holds the data of the tasks: imdb/, mnist/, fsdd/recordings/, enwik8.txt, wikitext-2/ (see docs/results.md);
# ListOps and Pathfinder are generated. Tasks without data are skipped. Two tasks of pictures run only where they are
# named, tiny-imagenet (tiny-imagenet-10/train and val) and cifar10 (cifar10/): `mega compare`, with a search for the
# learning rate of each model by runs of --tune.
set -euo pipefail

time=10m tune=5m out=runs/results data=data mega=build/mega tasks=()
while [ $# -gt 0 ]; do
  case $1 in
    --time) time=$2 && shift ;;
    --tune) tune=$2 && shift ;;
    --out) out=$2 && shift ;;
    --data) data=$2 && shift ;;
    --mega) mega=$2 && shift ;;
    --help | -h)
      sed -n '2,11s/^# \{0,1\}//p' "$0"
      exit
      ;;
    -*)
      echo "unknown option: $1" >&2
      exit 2
      ;;
    *) tasks+=("$1") ;;
  esac
  shift
done
# Only the options are looked at, for scripts/check_docs.sh.
if [ -n "${MEGA_PARSE_ONLY:-}" ]; then exit; fi
[ ${#tasks[@]} -gt 0 ] || tasks=(listops-short listops-long imdb mnist digits pathfinder enwik8 wikitext2)
mkdir -p "$out"
export OMP_WAIT_POLICY=passive

# pair TASK PRESET DATA [OPTION...]: trains both models at once, each on its own core; MODEL in an option is replaced
# by the model's name.
pair() {
  local task=$1 preset=$2 path=$3 model options=()
  shift 3
  if [ ! -e "$path" ]; then
    echo "$task: $path not found, skipped" >&2
    return
  fi
  for model in mega transformer; do
    local run=$out/$task-$model resume=()
    if [ -e "$run/result.json" ]; then continue; fi
    if [ -e "$run/recipe.json" ]; then resume=(--resume); fi
    options=("${@/MODEL/$model}")
    if [ $model = transformer ]; then options+=(--set model.kind=transformer); fi
    "$mega" train "$preset" --data "$path" --out "$run" --time "$time" --threads 1 "${options[@]}" "${resume[@]}" \
      >"$run.log" 2>&1 &
  done
  wait
  for model in mega transformer; do
    printf '%-14s %-12s %s\n' "$task" $model "$(grep '^test ' "$out/$task-$model.log" | head -1)"
  done
}

# tuned_pair TASK PRESET DATA [OPTION...]: one model after the other on all cores, at its best learning rate.
tuned_pair() {
  local task=$1 preset=$2 path=$3
  shift 3
  if [ ! -e "$path" ]; then
    echo "$task: $path not found, skipped" >&2
    return
  fi
  "$mega" compare "$preset" --data "$path" --time "$time" --tune "$tune" --out "$out/$task" "$@"
}

make_once() {
  local folder=$1
  shift
  [ -e "$folder" ] || "$mega" data make "$@" --out "$folder"
}

for task in "${tasks[@]}"; do
  case $task in
    listops-short)
      make_once "$out/data/listops-short" listops --train 96000 --valid 2000 --test 2000 \
        --min-length 10 --max-length 100 --depth 6 --arguments 5
      pair $task listops-small "$out/data/listops-short"
      ;;
    listops-long)
      make_once "$out/data/listops-long" listops
      # Fine-tunes the models of listops-short on longer expressions.
      pair $task listops-small "$out/data/listops-long" --set "train.init=$out/listops-short-MODEL/model.safetensors" \
        --set input.max_length=2002 --set train.batch=8 --set train.learning_rate=2e-3 \
        --set data.evaluation_limit=1000
      ;;
    imdb) pair $task text-small "$data/imdb" --set data.evaluation_limit=4000 ;;
    mnist) pair $task image-small "$data/mnist" --set data.evaluation_limit=4000 ;;
    digits)
      pair $task audio-small "$data/fsdd/recordings" --set 'data.label_pattern=([0-9])_' \
        --set 'data.test_pattern=_[0-4]\.wav$' --set input.rate=4000 --set input.length=3000
      ;;
    pathfinder)
      make_once "$out/data/pathfinder" pathfinder --count 100000 --contour-length 6
      pair $task pathfinder-small "$out/data/pathfinder" --set data.evaluation_limit=2000
      ;;
    tiny-imagenet)
      # 5,000 pictures are read hundreds of times: with the augmentation of DeiT.
      tuned_pair $task picture-64 "$data/tiny-imagenet-10/train" --set "data.test=$data/tiny-imagenet-10/val" \
        --set augment.image.operations=2 --set augment.image.mixup=0.8 --set augment.image.cutmix=1.0 \
        --set augment.image.erase=0.25 --set train.precision=auto
      ;;
    cifar10) tuned_pair $task picture-small "$data/cifar10" ;;
    enwik8) pair $task bytes-small "$data/enwik8.txt" ;;
    wikitext2) pair $task words-small "$data/wikitext-2" ;;
    *)
      echo "unknown task: $task" >&2
      exit 2
      ;;
  esac
done
