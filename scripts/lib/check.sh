# Sourced. What checks share: steps that are timed, conditions that are waited for, and packages.

# Prints what follows, and how long the check has run.
step() { echo "-- $* (${SECONDS} s)"; }

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# SECONDS WHAT COMMAND…: waits until COMMAND succeeds.
wait_for() {
  local limit=$1 what=$2 began=$SECONDS
  shift 2
  until "$@"; do
    if [ $((SECONDS - began)) -ge "$limit" ]; then
      fail "not within $limit s: $what"
    fi
    sleep 1
  done
  echo "   $what: after $((SECONDS - began)) s"
}

# PACKAGE=PROGRAM…: installs those whose program is missing.
need_programs() {
  local pair missing=()
  for pair in "$@"; do
    command -v "${pair#*=}" >/dev/null || missing+=("${pair%%=*}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  step "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}" >/dev/null
}
