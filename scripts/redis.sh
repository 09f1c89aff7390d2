# shellcheck shell=bash
# A Redis for rate limits: on a free port, without persistence.

# Starts Redis with its log in a folder, and exports its setting: redis_start FOLDER.
redis_start() {
    local folder=$1 port turn
    read -r port < <(free_ports 1)
    start "Redis" "$folder/redis.log" redis-server --bind 127.0.0.1 --port "$port" --dir "$folder" \
        --save '' --appendonly no --daemonize no
    for ((turn = 0; turn < 100; turn++)); do
        free_port "$port" || break
        running "${STARTED[-1]}" || break
        sleep 0.1
    done
    ! free_port "$port" || { tail -n 20 "$folder/redis.log" >&2; fail "Redis did not start"; }
    export SVC_REDIS_URL=redis://127.0.0.1:$port
}
