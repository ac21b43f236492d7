# Steps that are counted, one after another or beside others. `.ci/run` is made of them.
set -uo pipefail

scratch=$(mktemp -d)
lanes=()
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
touch "$scratch/counted" "$scratch/failures"

# step NAME COMMAND...: runs it and says how long it took; the answer is the command's own.
step() {
  local name=$1 started=$SECONDS code=0
  shift
  printf '\n=== %s\n' "$name"
  "$@" || code=$?
  printf '=== %s: %s in %ds\n' "$name" "$([ $code = 0 ] && echo passed || echo "FAILED ($code)")" $((SECONDS - started))
  return $code
}

# add PASSED FAILED: counts, in a file, because steps run in several processes.
add() { echo "$1 $2" >>"$scratch/counted"; }

# count NAME COMMAND...: a step that counts as one.
count() {
  local output=$scratch/${1// /-}.log
  if step "$@" 2>&1 | tee "$output"; then
    add 1 0
  else
    add 0 1
    { echo "$1:" && tail -n 40 "$output"; } >>"$scratch/failures"
  fi
}

# beside LANE: runs a function of steps in the background. What it prints comes as a whole when `join_lanes` waits for it.
beside() {
  lanes+=("$1")
  { "$1" && touch "$scratch/$1.ended"; } >"$scratch/$1.lane" 2>&1 &
}

# A lane that ended before its last step counts as failed.
join_lanes() {
  wait
  local lane
  for lane in "${lanes[@]}"; do
    cat "$scratch/$lane.lane"
    if [ ! -e "$scratch/$lane.ended" ]; then
      add 0 1
      echo "$lane: ended before its last step" >>"$scratch/failures"
    fi
  done
}

# finish: what failed, and the count as the last line.
finish() {
  local passed failed
  if [ -s "$scratch/failures" ]; then printf '\n=== What failed\n' && cat "$scratch/failures"; fi
  read -r passed failed < <(awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }' "$scratch/counted")
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" = 0 ]
}
