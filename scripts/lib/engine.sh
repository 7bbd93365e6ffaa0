# Sourced. A Docker engine of one's own beside any other: own data, own socket, own bridge, and nothing left of it.
#
#   engine_start    starts it, and points DOCKER_HOST at it
#   engine_stop     stops it and removes its data; for a trap, harmless where nothing was started

ENGINE_DIR=""
ENGINE_BRIDGE=""

engine_start() {
  ENGINE_DIR=$(mktemp -d /var/tmp/goodput-engine.XXXXXX)
  export DOCKER_HOST="unix://$ENGINE_DIR/docker.sock"
  # An engine changes the host's firewall and does not change it back.
  local table
  for table in filter nat; do
    # To list a table makes it, so that an empty one is saved, and restored to, as empty.
    iptables --table "$table" --list-rules >/dev/null
    iptables-save --table "$table"
  done >"$ENGINE_DIR/iptables"
  cat /proc/sys/net/ipv4/ip_forward >"$ENGINE_DIR/ip_forward"
  local net
  net=$(engine_bridge)
  ENGINE_BRIDGE="goodput$net"
  dockerd --host "$DOCKER_HOST" --data-root "$ENGINE_DIR/data" --exec-root "$ENGINE_DIR/exec" \
    --pidfile "$ENGINE_DIR/pid" --bridge "$ENGINE_BRIDGE" \
    --default-address-pool base="172.31.$((net + 1)).0/24,size=28" >"$ENGINE_DIR/log" 2>&1 &
  local waited=0
  until docker version >/dev/null 2>&1; do
    if ! kill -0 $! 2>/dev/null || [ "$waited" -ge 60 ]; then
      tail -n 30 "$ENGINE_DIR/log" >&2
      echo "the Docker engine did not start; its log is above" >&2
      return 1
    fi
    sleep 0.5
    waited=$((waited + 1))
  done
}

engine_stop() {
  [ -n "$ENGINE_DIR" ] || return 0
  docker ps --all --quiet 2>/dev/null | xargs -r docker rm --force >/dev/null 2>&1 || true
  docker network prune --force >/dev/null 2>&1 || true
  local pid
  if pid=$(cat "$ENGINE_DIR/pid" 2>/dev/null); then
    kill "$pid" 2>/dev/null || true
    local waited=0
    while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt 120 ]; do
      sleep 0.5
      waited=$((waited + 1))
    done
  fi
  engine_restore_firewall || true
  ip link delete "$ENGINE_BRIDGE" 2>/dev/null || true
  # Mounts that an engine leaves where it was killed.
  awk -v dir="$ENGINE_DIR/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount -l
  rm -rf "$ENGINE_DIR"
  ENGINE_DIR=""
}

# Makes a bridge that no other engine of this kind has, and prints its number: the third byte of its network.
engine_bridge() {
  local net
  for net in 240 242 244 246 248 250 252; do
    if ip link add "goodput$net" type bridge 2>/dev/null; then
      ip address add "172.31.$net.1/24" dev "goodput$net"
      ip link set "goodput$net" up
      echo "$net"
      return
    fi
  done
  echo "no bridge can be made: \`ip link add goodput240 type bridge\` says why" >&2
  return 1
}

# As it was before, or, where another engine has rules of its own, without those of this one's bridge.
engine_restore_firewall() {
  if ! grep --quiet DOCKER "$ENGINE_DIR/iptables"; then
    iptables-restore <"$ENGINE_DIR/iptables"
    cat "$ENGINE_DIR/ip_forward" >/proc/sys/net/ipv4/ip_forward
    return
  fi
  local table
  for table in filter nat; do
    iptables-save --table "$table" | grep -- "^-A .*\b$ENGINE_BRIDGE\b" | sed 's/^-A/-D/' |
      while read -r rule; do
        # shellcheck disable=SC2086 # a rule is words
        iptables --table "$table" $rule
      done
  done
}
