# shellcheck shell=bash
# PostgreSQL servers for tests: each in a folder, on a free port, removed when stopped.

# Prints the folder with the programs of the newest server, 15 or later.
postgres_programs() {
    local found version
    found=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5 -n | tail -n 1)
    [[ -x $found/postgres ]] || found=$(pg_config --bindir 2>/dev/null) || return 1
    version=$("$found/postgres" --version 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
    ((${version:-0} >= 15)) && echo "$found"
}

# PostgreSQL does not run as root.
as_postgres() (
    cd /
    if [[ $EUID == 0 ]]; then exec runuser -u postgres -- "$@"; else exec "$@"; fi
)

# Creates a cluster and starts it: postgres_start FOLDER durable|throwaway. Sets POSTGRES_URL.
postgres_start() {
    local folder=$1 kind=$2 programs port settings
    programs=$(postgres_programs) || fail "PostgreSQL is not installed: ./dev deps"
    say "starting PostgreSQL ($kind)"
    mkdir -p "$folder"
    [[ $EUID != 0 ]] || chown postgres "$folder"
    as_postgres "$programs/initdb" --pgdata="$folder/data" --username=postgres --auth=trust \
        --encoding=UTF8 --locale=C.UTF-8 --no-sync >"$folder/initdb.log" 2>&1 ||
        { cat "$folder/initdb.log" >&2; fail "initdb failed"; }
    read -r port < <(free_ports 1)
    settings=("listen_addresses = '127.0.0.1'" "port = $port" "unix_socket_directories = '$folder'"
        "max_connections = 400" "shared_buffers = 256MB" "max_wal_size = 4GB")
    # Only for data that is not needed after a crash.
    [[ $kind == durable ]] || settings+=("fsync = off" "full_page_writes = off")
    printf '%s\n' "${settings[@]}" | as_postgres tee -a "$folder/data/postgresql.conf" >/dev/null
    as_postgres "$programs/pg_ctl" --pgdata="$folder/data" --log="$folder/server.log" --silent --wait start \
        </dev/null || { tail -n 20 "$folder/server.log" >&2; fail "PostgreSQL did not start"; }
    POSTGRES_URL=postgres://postgres@127.0.0.1:$port
}

# Stops the server of a folder, if there is one, and removes it: postgres_stop FOLDER fast|immediate.
postgres_stop() {
    local folder=$1 mode=$2
    [[ -d $folder ]] || return 0
    if [[ -f $folder/data/postmaster.pid ]]; then
        local stop=("$(postgres_programs)/pg_ctl" --pgdata="$folder/data" --silent --wait stop)
        as_postgres "${stop[@]}" --mode="$mode" &>/dev/null || as_postgres "${stop[@]}" --mode=immediate &>/dev/null ||
            true
    fi
    rm -rf "$folder"
}

scratch_postgres() {
    scratch
    postgres_start "$SCRATCH/postgres" "$1"
}

# Creates both schemas in one empty database, for the query macros. longshored is not needed.
scratch_schemas() {
    local file
    scratch_postgres throwaway
    for file in crates/store/migrations/{control,shard}/*.sql; do
        query postgres --single-transaction --file="$file" >/dev/null
    done
}

# psql without the user's settings: query DATABASE ARGUMENTS…
query() {
    local database=$1
    shift
    psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$POSTGRES_URL/$database" "$@"
}

# Creates control and two shards, and exports their settings.
make_databases() {
    query postgres --command='create database control' --command='create database north' \
        --command='create database south'
    export SVC_CONTROL_DATABASE_URL=$POSTGRES_URL/control
    export SVC_SHARD_DATABASE_URLS=north=$POSTGRES_URL/north,south=$POSTGRES_URL/south
}
