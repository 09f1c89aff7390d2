# shellcheck shell=bash
# An object store of our own: SeaweedFS on free ports, with one bucket, gone when stopped.

readonly OBJECTS_BUCKET=longshore OBJECTS_KEY=longshore-dev OBJECTS_SECRET=longshore-dev-secret

# Its program, as deps.sh installs it.
objects_program() { echo "$CACHE/objects/bin/weed"; }

# Starts one whose data lie in a folder; others may start meanwhile: objects_start FOLDER. Sets OBJECTS_PORT.
objects_start() {
    local folder=$1 ports
    read -r -a ports < <(free_ports 8)
    OBJECTS_PORT=${ports[0]}
    mkdir -p "$folder/data"
    # It leaves sockets behind that are named after its ports.
    printf '%s\n' "${ports[@]}" >"$folder/ports"
    # Without this a bucket begins with seven volumes, and a small test waits for all of them.
    printf '[master.volume_growth]\ncopy_1 = 1\n' >"$folder/master.toml"
    objects_identities >"$folder/s3.json"
    # 120 volumes of 256 MB: room for 30 GB. Every port is named, since each would otherwise
    # take a second one 10,000 above it. It sends statistics home unless told not to.
    start "SeaweedFS" "$folder/../objects.log" "$(objects_program)" \
        -logtostderr -config_dir="$folder" server -dir="$folder/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -s3 -s3.port="${ports[0]}" -s3.port.grpc="${ports[1]}" -s3.localSocket="$folder/s3.sock" \
        -s3.config="$folder/s3.json" -s3.iam=false -s3.port.iceberg=0 -s3.port.lance=0 \
        -filer -filer.port="${ports[2]}" -filer.port.grpc="${ports[3]}" -filer.localSocket="$folder/filer.sock" \
        -master.port="${ports[4]}" -master.port.grpc="${ports[5]}" -master.volumeSizeLimitMB=256 \
        -master.telemetry=false -master.electionTimeout=1s \
        -volume.port="${ports[6]}" -volume.port.grpc="${ports[7]}" -volume.max=120 -volume.preStopSeconds=0
    # It takes 15 seconds to end, for the sake of a cluster that it has not.
    PATIENCE[STARTED[-1]]=2
}

# Waits until it works, and makes its bucket: objects_await FOLDER. Sets OBJECTS_STORE, with keys and bucket.
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

# Removes what one that has ended left behind: objects_clear FOLDER.
objects_clear() {
    local folder=$1 port
    [[ -f $folder/ports ]] || return 0
    while read -r port; do rm -f /tmp/seaweedfs-{s3,filer,master,volume}-grpc-"$port".sock; done <"$folder/ports"
    rm -rf "$folder"
}

# Names it to the server. Callers reach it by another name than we do, as they would in production.
objects_settings() {
    export SVC_OBJECTS_URL=http://127.0.0.1:$OBJECTS_PORT SVC_OBJECTS_PUBLIC_URL=http://localhost:$OBJECTS_PORT
    export SVC_OBJECTS_BUCKET=$OBJECTS_BUCKET
    export SVC_OBJECTS_ACCESS_KEY=$OBJECTS_KEY SVC_OBJECTS_SECRET_KEY=$OBJECTS_SECRET
}
