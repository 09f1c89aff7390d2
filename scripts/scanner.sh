# shellcheck shell=bash
# A malware scanner for tests: clamd on a free port, which knows only the EICAR test file.

# Starts clamd with its files in a folder: scanner_start FOLDER. Sets SCANNER_ADDRESS.
scanner_start() {
    local folder=$1 port turn
    read -r port < <(free_ports 1)
    mkdir -p "$folder/signatures" "$folder/streams"
    scanner_signatures >"$folder/signatures/test.ndb"
    scanner_settings "$folder" "$port" >"$folder/clamd.conf"
    # Debian's AppArmor profile matches the path of the program and allows only certain folders.
    cp "$(PATH=$PATH:/usr/sbin command -v clamd)" "$folder/clamd"
    start "clamd" "$folder/../scanner.log" "$folder/clamd" --config-file="$folder/clamd.conf"
    STOP_TIMEOUT[STARTED[-1]]=5
    for ((turn = 0; turn < 300; turn++)); do
        [[ $(scanner_ask "$port") != PONG ]] || break
        running "${STARTED[-1]}" || break
        sleep 0.1
    done
    [[ $(scanner_ask "$port") == PONG ]] || { tail -n 20 "$folder/../scanner.log" >&2; fail "clamd did not start"; }
    SCANNER_ADDRESS=tcp://127.0.0.1:$port
}

# The EICAR test file: harmless, detected by every scanner. In two halves, so that this script is not detected.
scanner_signatures() {
    local first='X5O!P%@AP[4\PZX54(P^)7CC)7}' second='$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'
    printf 'Test.Eicar:0:*:%s\n' "$(printf '%s' "$first$second" | od -An -v -tx1 | tr -d ' \n')"
}

# As in docs/object-storage-and-scanner.md.
scanner_settings() {
    cat <<END
DatabaseDirectory $1/signatures
TemporaryDirectory $1/streams
LocalSocket $1/clamd.sock
TCPAddr 127.0.0.1
TCPSocket $2
Foreground yes
User $(id -un)
SelfCheck 0
ConcurrentDatabaseReload yes
ReadTimeout 300
StreamMaxLength 1100M
MaxFileSize 1100M
MaxScanSize 4000M
MaxScanTime 0
AlertExceedsMax yes
END
}

scanner_ask() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
        printf 'nPING\n' >&3
        read -r -t 2 answer <&3
        echo "$answer"
    ) 2>/dev/null
}
