# Sourced. Speaks to a running stack: by compose, by Prometheus, and by the files that it leaves in its folder.

STACK_RUNS="${STACK_RUNS:-./runs/stack}"
WINDOWS="$STACK_RUNS/load-generator.windows.jsonl"

compose() { docker-compose --ansi never "$@"; }

# What is started by default and has an image on a host that cannot pull.
SERVICES=(order-status load-generator fault-injector prometheus)

# Types a command where a person would.
typed() { compose exec -T fault-injector goodput "$@" </dev/null; }

# METHOD PORT PATH [JSON]: a control plane, from the host.
api() {
  curl --silent --show-error --fail-with-body --max-time 5 --request "$1" \
    --header "Authorization: Bearer $(control_token)" --header 'Content-Type: application/json' \
    ${4:+--data "$4"} "http://127.0.0.1:$2$3"
}

# Any container that is up has it.
control_token() { compose exec -T order-status cat /run/goodput/token </dev/null; }

all_healthy() {
  local service id health
  for service in "${SERVICES[@]}"; do
    id=$(compose ps -q "$service")
    [ -n "$id" ] || return 1
    health=$(docker inspect --format '{{.State.Health.Status}}' "$id")
    [ "$health" = healthy ] || return 1
  done
}

# EXPRESSION: its value in Prometheus, of one series; nothing where there is none.
asked() {
  curl --silent --fail --max-time 5 --get "http://127.0.0.1:${PROMETHEUS_PORT:-9090}/api/v1/query" \
    --data-urlencode "query=$1" | jq --raw-output '.data.result[0].value[1] // empty'
}

# EXPRESSION: whether Prometheus has a series for it.
holds() { [ -n "$(asked "$1")" ]; }

# SECONDS SHARE: whether so large a share of what was offered lately was good.
good_lately() {
  [ "$(wc -l <"$WINDOWS")" -ge "$1" ] || return 1
  tail -n "$1" "$WINDOWS" |
    jq --slurp --exit-status "((map(.good) | add) / (map(.offered) | add)) >= $2" >/dev/null
}

# SECONDS SHARE: whether at most so large a share was.
bad_lately() {
  tail -n "$1" "$WINDOWS" |
    jq --slurp --exit-status "((map(.good) | add) / (map(.offered) | add)) <= $2" >/dev/null
}
