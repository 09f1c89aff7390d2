# shellcheck shell=bash
# The databases of a server that servers.sh started.

# Prints the folder with the programs of the newest server, 15 or later.
postgres_programs() {
    local found version
    found=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5 -n | tail -n 1)
    [[ -x $found/postgres ]] || found=$(pg_config --bindir 2>/dev/null) || return 1
    version=$("$found/postgres" --version 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
    ((${version:-0} >= 15)) && echo "$found"
}

# Creates both schemas in one empty database, for the query macros. longshored is not needed.
scratch_schemas() {
    local file
    scratch
    servers_start "$SCRATCH" throwaway
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
