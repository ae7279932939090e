# For .ci/run and scripts/check-all: runs steps, and prints the cost and outcome of each.
failed=()
costs=()
passed_tests=0 failed_tests=0 skipped_tests=0
mkdir -p build/ci

# Sets cpu to the processor time of this shell's children, in seconds.
cpu_seconds() {
  times >build/ci/cpu
  cpu=$(sed -n '2s/[ms]/ /gp' build/ci/cpu | awk '{printf "%d", 60 * $1 + $2 + 60 * $3 + $4}')
}
# step NAME COMMAND…: a failure doesn't keep later steps from running.
step() {
  local name=$1 start=$SECONDS status=done cpu before
  shift
  cpu_seconds
  before=$cpu
  echo
  echo "==== $name"
  "$@" || { status=FAILED; failed+=("$name"); }
  cpu_seconds
  costs+=("$(printf '%5d s, %5d s of CPU  %-6s  %s' $((SECONDS - start)) $((cpu - before)) "$status" "$name")")
}
# in_background COMMAND…: runs a one-thread command during the next steps; in_foreground waits for it and prints its output.
in_background() { "$@" >build/ci/background 2>&1 & background=$!; }
in_foreground() {
  local status=0
  wait "$background" || status=$?
  cat build/ci/background
  return $status
}
# Counts the test cases of the last ctest run in a build folder: those that its programs count, and one for any other test.
count_tests() {
  local passed failed skipped
  read -r passed failed skipped < <(awk '
    /^[0-9]+\/[0-9]+ Test: / { counted = 0 }
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5; counted = 1 }
    /^Test Passed\.$/ && !counted { ++passed }
    /^Test Failed\.$/ && !counted { ++failed }
    END { print passed + 0, failed + 0, skipped + 0 }' "$1/Testing/Temporary/LastTest.log" 2>/dev/null)
  passed_tests=$((passed_tests + passed)) failed_tests=$((failed_tests + failed)) skipped_tests=$((skipped_tests + skipped))
}
# A shell's background jobs ignore SIGINT, which the commands that the checks interrupt would inherit.
acceptance_checks() {
  QUERN=$1 env --default-signal=INT,TERM ../shared/acceptance/check.py pipeline engine order plan promises
}
# Prints the table of steps, and as the last line what passed: a step that failed without a failed test counts as one.
finish() {
  echo
  echo "==== all steps, $SECONDS s"
  printf '%s\n' "${costs[@]}"
  [ ${#failed[@]} -eq 0 ] || printf 'FAILED: %s\n' "${failed[@]}"
  local lost=$((failed_tests > ${#failed[@]} ? failed_tests : ${#failed[@]}))
  echo "$passed_tests passed, $lost failed, $skipped_tests skipped"
  [ "$lost" -eq 0 ]
  exit
}
