# shellcheck shell=bash
# An object store for tests: SeaweedFS on free ports, with one bucket, removed when stopped.

readonly OBJECTS_BUCKET=longshore OBJECTS_KEY=longshore-dev OBJECTS_SECRET=longshore-dev-secret

# The program that deps.sh installs.
objects_program() { echo "$CACHE/objects/bin/weed"; }

# Starts a store with its data in a folder, without waiting: objects_start FOLDER. Sets OBJECTS_PORT.
objects_start() {
    local folder=$1 ports
    read -r -a ports < <(free_ports 8)
    OBJECTS_PORT=${ports[0]}
    mkdir -p "$folder/data"
    # objects_clear needs the ports: SeaweedFS leaves sockets behind that are named after them.
    printf '%s\n' "${ports[@]}" >"$folder/ports"
    # Without this a bucket begins with seven volumes, and a small test waits for all of them.
    printf '[master.volume_growth]\ncopy_1 = 1\n' >"$folder/master.toml"
    objects_identities >"$folder/s3.json"
    # 120 volumes of 256 MB: room for 30 GB. Every port is set, because each would otherwise
    # use a second one 10,000 above it. Telemetry is on by default.
    start "SeaweedFS" "$folder/../objects.log" "$(objects_program)" \
        -logtostderr -config_dir="$folder" server -dir="$folder/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -s3 -s3.port="${ports[0]}" -s3.port.grpc="${ports[1]}" -s3.localSocket="$folder/s3.sock" \
        -s3.config="$folder/s3.json" -s3.iam=false -s3.port.iceberg=0 -s3.port.lance=0 \
        -filer -filer.port="${ports[2]}" -filer.port.grpc="${ports[3]}" -filer.localSocket="$folder/filer.sock" \
        -master.port="${ports[4]}" -master.port.grpc="${ports[5]}" -master.volumeSizeLimitMB=256 \
        -master.telemetry=false -master.electionTimeout=1s \
        -volume.port="${ports[6]}" -volume.port.grpc="${ports[7]}" -volume.max=120 -volume.preStopSeconds=0
    # It waits 15 seconds for its cluster before it ends; here there is none.
    STOP_TIMEOUT[STARTED[-1]]=2
}

# Waits until the store works, and creates its bucket: objects_await FOLDER. Sets OBJECTS_STORE, with keys and bucket.
objects_await() {
    OBJECTS_STORE=http://$OBJECTS_KEY:$OBJECTS_SECRET@127.0.0.1:$OBJECTS_PORT/$OBJECTS_BUCKET
    python3 scripts/objects.py "$OBJECTS_STORE" ||
        { tail -n 20 "$1/../objects.log" >&2; fail "SeaweedFS did not start"; }
}

objects_identities() {
    cat <<END
{"identities": [{"name": "longshore", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
  "credentials": [{"accessKey": "$OBJECTS_KEY", "secretKey": "$OBJECTS_SECRET"}]}]}
END
}

# Removes the data of a stopped store: objects_clear FOLDER.
objects_clear() {
    local folder=$1 port
    [[ -f $folder/ports ]] || return 0
    while read -r port; do rm -f /tmp/seaweedfs-{s3,filer,master,volume}-grpc-"$port".sock; done <"$folder/ports"
    rm -rf "$folder"
}

# Exports the settings for longshored. Callers use another host name than longshored, as in production.
objects_settings() {
    export SVC_OBJECTS_URL=http://127.0.0.1:$OBJECTS_PORT SVC_OBJECTS_PUBLIC_URL=http://localhost:$OBJECTS_PORT
    export SVC_OBJECTS_BUCKET=$OBJECTS_BUCKET
    export SVC_OBJECTS_ACCESS_KEY=$OBJECTS_KEY SVC_OBJECTS_SECRET_KEY=$OBJECTS_SECRET
}
