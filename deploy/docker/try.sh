#!/bin/sh
# Builds images from deploy/Dockerfile and runs deploy/compose.yaml with a Docker engine of its own, on a machine without
# a registry of images: the base images are made of Debian's packages and of the Node program of this repository.
# Needs root on Debian 12, and: apt-get install docker.io docker-compose debootstrap iproute2 iptables curl
# Use: deploy/docker/try.sh FOLDER [RECORD]; takes 3 GB in FOLDER, whose file system must allow overlays, which must not exist and is removed at the end.
# Everything runs in FOLDER and in a network of its own; the addresses and the Docker of this machine are not used.
# RECORD, a file, gets the commands and their output without the build.
set -eu
folder=$1
record=${2:-/dev/null}
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
node=$(readlink -f "$repository/node_modules/.bin/node")
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npx)")")")
services='gateway weather-agent weather-tool'

[ "$(id -u)" = 0 ] || { echo "run this as root" >&2; exit 2; }
for program in dockerd docker-compose debootstrap unshare nsenter ip iptables curl; do
  command -v "$program" >/dev/null || { echo "$program is not here: see the first lines of this script" >&2; exit 2; }
done
[ ! -e "$folder" ] || { echo "$folder exists: name a new folder" >&2; exit 2; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# Debian's client builds with BuildKit by itself; others need a plugin.
docker=/usr/bin/docker
export DOCKER_HOST="unix://$folder/docker.sock" DOCKER_BUILDKIT=1 DOCKER_CONFIG="$folder/config" COMPOSE_PROJECT_NAME=agentmesh
engine= model=

say() { printf '\n== %s\n' "$*"; printf '\n== %s\n' "$*" >>"$record"; }
# Runs a command and records it with its output.
show() {
  printf '$ %s\n' "$1" >>"$record"
  sh -c "$2" 2>&1 | tee -a "$record"
}

# Starts dockerd: `start_engine outside` in the network of this machine, for builds; `start_engine inside` in its own.
start_engine() {
  state="--data-root $folder/data --exec-root $folder/exec --pidfile $folder/docker.pid -H $DOCKER_HOST --storage-driver overlay2"
  if [ "$1" = outside ]; then
    # shellcheck disable=SC2086
    dockerd $state --bridge none --iptables=false --ip-forward=false >"$folder/dockerd-$1.log" 2>&1 &
  else
    # shellcheck disable=SC2086
    unshare --net -- sh -c 'ip link set lo up; exec dockerd "$@"' sh $state --bip 172.31.251.1/24 >"$folder/dockerd-$1.log" 2>&1 &
  fi
  engine=$!
  tries=0
  until $docker version >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 120 ] || ! kill -0 "$engine" 2>/dev/null; then
      echo "the engine does not start:" >&2
      tail -n 20 "$folder/dockerd-$1.log" >&2
      exit 1
    fi
    sleep 0.5
  done
}

stop_engine() {
  [ -n "$engine" ] || return 0
  kill "$engine" 2>/dev/null || true
  wait "$engine" 2>/dev/null || true
  engine=
}

clean() {
  [ -z "$model" ] || kill "$model" 2>/dev/null || true
  if [ -n "$engine" ]; then
    all=$($docker ps -aq 2>/dev/null || true)
    # shellcheck disable=SC2086
    [ -z "$all" ] || $docker rm -f -v $all >/dev/null 2>&1 || true
  fi
  stop_engine
  # Mounts of containers that were killed, the deepest first.
  awk -v at="$folder/" 'index($2, at) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
    umount -l "$mount" || true
  done
  rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM

say "a base image of Debian's packages"
debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/root" >"$folder/debootstrap.log"
rm -rf "$folder/root/var/cache/apt/archives" "$folder/root/var/lib/apt/lists" "$folder/root/usr/share/doc" "$folder/root/usr/share/locale"
mkdir -p "$folder/root/var/lib/apt/lists/partial" "$folder/root/var/cache/apt/archives/partial"
# The authorities of this machine, for a mirror of Debian behind one of them.
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/root/etc/ssl/certs/"
start_engine outside
tar -C "$folder/root" -c . | $docker import - agentmesh-try/debian >/dev/null
rm -rf "$folder/root"

say "images of Node, NATS and Redis"
mkdir "$folder/node"
cp "$node" "$folder/node/node"
cp -R "$npm" "$folder/node/npm"
cat >"$folder/node/Dockerfile" <<'DOCKERFILE'
FROM agentmesh-try/debian
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
DOCKERFILE
$docker build -q --network host -t agentmesh-try/node "$folder/node" >/dev/null
$docker build -q --network host -t agentmesh-try/nats - >/dev/null <<'DOCKERFILE'
FROM agentmesh-try/debian
RUN apt-get update -q && apt-get install -qy --no-install-recommends nats-server wget && apt-get clean
ENTRYPOINT ["nats-server"]
DOCKERFILE
$docker build -q --network host -t agentmesh-try/redis - >/dev/null <<'DOCKERFILE'
FROM agentmesh-try/debian
RUN apt-get update -q && apt-get install -qy --no-install-recommends redis-server && apt-get clean && install -d -o redis -g redis /data
WORKDIR /data
DOCKERFILE

say "images of the mesh, from deploy/Dockerfile"
# The authorities and the registry of packages of this machine, as in a company with its own.
secrets='--secret id=ca,src=/etc/ssl/certs/ca-certificates.crt'
[ ! -f "$HOME/.npmrc" ] || secrets="$secrets --secret id=npmrc,src=$HOME/.npmrc"
build() {
  started=$(date +%s)
  # shellcheck disable=SC2086
  (cd "$repository" && $docker build -q --network host -f deploy/Dockerfile --build-arg NODE_IMAGE=agentmesh-try/node \
    --build-arg "SERVICE=$2" ${3:+--build-arg "FILTER=$3"} $secrets -t "agentmesh/$1:dev" .) >/dev/null
  echo "agentmesh/$1:dev after $(($(date +%s) - started)) s" | tee -a "$record"
}
build provision deploy '*'
build gateway services/gateway
build weather-agent services/agents/weather
build weather-tool services/tools/weather
$docker builder prune -af >/dev/null
stop_engine

say "the mesh, in a network of its own"
start_engine inside
# A password for each variable that compose.yaml requires.
sed -n 's/.*\${\([A-Z_]*\):?.*/\1/p' "$here/../compose.yaml" | sort -u | while read -r name; do
  echo "$name=p$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done >"$folder/env"
echo "CREDENTIAL_KEYS=k1:$(head -c 32 /dev/urandom | base64)" >>"$folder/env"
# The subnet of try.yaml: the first address is this machine's.
$docker network create --subnet 172.31.250.0/24 agentmesh_services \
  --label com.docker.compose.network=services --label com.docker.compose.project=agentmesh >/dev/null
in_network() { nsenter --net="/proc/$engine/ns/net" -- "$@"; }
nsenter --net="/proc/$engine/ns/net" -- "$node" "$here/model.ts" 172.31.250.1 >"$folder/model" &
model=$!
until [ -s "$folder/model" ]; do kill -0 "$model" && sleep 0.2; done
echo "MODEL_URL=$(cat "$folder/model")" >>"$folder/env"
# Compose 1.29 of Debian does not know the key `name`; COMPOSE_PROJECT_NAME has the name.
sed '/^name: /d' "$here/../compose.yaml" >"$folder/compose.yaml"
compose="docker-compose --env-file $folder/env -f $folder/compose.yaml -f $here/try.yaml --project-directory $here/.."
show "docker-compose -f deploy/compose.yaml -f deploy/docker/try.yaml up --detach $services" "$compose up --no-build --detach $services 2>&1 | grep -v 'orphan'"

gateway_ready() { in_network curl -sf -o /dev/null http://127.0.0.1:8000/health; }
tries=0
until gateway_ready; do
  tries=$((tries + 1))
  [ "$tries" -le 120 ] || { $compose logs --tail 5; echo "the gateway does not answer" >&2; exit 1; }
  sleep 0.5
done
key=$($compose run --rm provision ../libs/cli/src/main.ts keys create first --role operator --json 2>/dev/null | sed -n 's/.*"key": *"\([^"]*\)".*/\1/p')
[ -n "$key" ] || { echo "no key was made" >&2; exit 1; }
curl="nsenter --net=/proc/$engine/ns/net -- curl -sS --max-time 60 -H 'authorization: Bearer $key' -H 'content-type: application/json'"
session=http://127.0.0.1:8000/apps/weather_app/users/ann/sessions/s1
sh -c "$curl -X POST $session" >/dev/null
ask() {
  body='{"app_name":"weather_app","user_id":"ann","session_id":"s1","new_message":{"role":"user","parts":[{"text":"'$1'"}]}}'
  show "curl -X POST …/run -d '{… \"text\": \"$1\" …}'" "$curl -X POST http://127.0.0.1:8000/run -d '$body' | $node $here/texts.mjs"
}
state() { show "docker ps" "$docker ps --format '{{.Names}}: {{.Status}}' | sort"; }
# Kills process 1 of a container, as a crash does, and waits until the engine has started it again.
crash() {
  container=$($compose ps -q "$1")
  kill -KILL "$($docker inspect -f '{{.State.Pid}}' "$container")"
  printf '$ kill -KILL <process 1 of %s>\n' "$1" >>"$record"
  until [ "$($docker inspect -f '{{.RestartCount}}' "$container")" -gt 0 ]; do sleep 0.2; done
}
# Waits until a container is healthy; after two minutes prints its last lines and ends.
healthy() {
  container=$($compose ps -q "$1")
  tries=0
  until [ "$($docker inspect -f '{{.State.Health.Status}}' "$container")" = healthy ]; do
    tries=$((tries + 1))
    [ "$tries" -le 240 ] || { $docker logs --tail 20 "$container"; echo "$1 is not healthy" >&2; exit 1; }
    sleep 0.5
  done
}

say "a run through the gateway"
for service in nats redis $services; do healthy "$service"; done
state
ask 'How is the weather in Paris?'

say "the agent is killed: the engine starts it again, and the conversation goes on"
crash weather-agent
healthy weather-agent
ask 'And the weather in Oslo?'

say "nats-server is killed"
crash nats
for service in nats $services; do healthy "$service"; done
ask 'And the weather in Rome?'

say "redis-server is killed"
crash redis
for service in redis $services; do healthy "$service"; done
ask 'And the weather in Bern?'
events=$(sh -c "$curl $session" | grep -o '"author"' | wc -l)
echo "the session has $events events" | tee -a "$record"
state
show "du -sh the folder" "du -sh $folder | cut -f 1"
[ "$events" -eq 16 ] || { echo "16 events were expected: four for each question" >&2; exit 1; }
say "done: everything is removed"
