#!/bin/bash
# Inside the container of `./dev package`: installs both versions of the package, and checks what the units do.
set -Eeuo pipefail
cd /trial
# A failed step says where.
trap 'echo "failed in line $LINENO: $BASH_COMMAND"; journalctl --no-pager --lines=60 --unit="longshored-*"' ERR

step() { echo "$(cut -d ' ' -f 1 /proc/uptime)  $*"; }

# Waits until a command succeeds: within SECONDS COMMAND…
within() {
    local turn turns=$(($1 * 5))
    shift
    for ((turn = 0; turn < turns; turn++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    "$@"
}

# A negated command never ends the script, so this is a function.
fails() {
    if "$@"; then
        echo "succeeded, but must fail: $*"
        return 1
    fi
}

main_pid() { systemctl show --property=MainPID --value "longshored-$1"; }
health() { longshored health --url "http://127.0.0.1:$1" "${@:2}"; }
nothing_is_left() { longshored-run migrate --status | grep 'nothing is left to do' >/dev/null; }
version() { dpkg-query --show --showformat='${Version}' longshore; }

# The documents of the package are served: the start page, and a page below it.
has_guide() {
    local page
    for page in guide guide/settings.html; do
        curl --silent --fail --location --max-time 10 --output page "http://127.0.0.1:8080/$page"
        grep -q 'href="[^"]*guide.css"' page
    done
}

step "install"
dpkg --install longshore_0.0.1_*.deb
[[ $(version) == 0.0.1 ]]
id longshore
[[ $(stat --format='%a %U %G' /etc/longshore/secrets) == '750 root longshore' ]]
[[ $(stat --format='%a %U' /etc/longshore/longshored.env) == '600 root' ]]
fails systemctl is-enabled --quiet longshored-all
fails systemctl is-active --quiet longshored-all

step "settings and schema"
as_postgres() { runuser -u postgres -- "$@"; }
within 60 as_postgres psql --command='select 1'
as_postgres createuser longshore
as_postgres createdb --owner=longshore --encoding=UTF8 --template=template0 longshore
echo 'postgres://longshore@localhost/longshore?host=/run/postgresql' |
    install -m 640 -g longshore /dev/stdin /etc/longshore/secrets/database-url
sed -i 's|^#SVC_DATABASE_URL_FILE=|SVC_DATABASE_URL_FILE=|' /etc/longshore/longshored.env
sed -i 's|^#SVC_DURABILITY=|SVC_DURABILITY=|' /etc/longshore/longshored.env
longshored-run migrate
longshored-run config | grep 'file /etc/longshore/secrets/database-url'
longshored-run doctor

step "start"
systemctl enable --now longshored-all
within 30 health 8080 --ready
[[ $(stat --format=%U "/proc/$(main_pid all)") == longshore ]]
step "the file probe confines itself under the unit's rules"
sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/longshored probe text/plain|' -e 's/^Restart=.*/Restart=no/' \
    -e 's/^Type=.*/Type=oneshot/' -e '/^RestartSec=/d' /usr/lib/systemd/system/longshored-work.service \
    >/run/systemd/system/longshored-probe.service
mkdir -p /run/systemd/system/longshored-probe.service.d
printf '[Service]\nStandardInput=file:/etc/longshore/models.toml\nStandardOutput=journal\n' \
    >/run/systemd/system/longshored-probe.service.d/input.conf
systemctl daemon-reload
systemctl start longshored-probe

step "a load survives a restart and a kill"
organization=$(longshored-run admin --json organization create Demo --plan pro |
    grep -oE 'org_[0-9A-Za-z]+' | head -n 1)
project=$(longshored-run admin --json project create --slug demo --organization "$organization" |
    grep -oE 'prj_[0-9A-Za-z]+' | head -n 1)
key=$(longshored-run admin --json key create --name trial --project "$project" |
    grep -oE '"key": *"[^"]+"' | cut -d '"' -f 4)
body='{"callback_url": "https://receiver.example/", "params": {"model": "svc-mock", "max_tokens": 8,
    "messages": [{"role": "user", "content": "Hello."}]}}'
cargo=$(curl --silent --fail http://127.0.0.1:8080/cargo/load -H "X-API-Key: $key" \
    -H 'Content-Type: application/json' -d "$body" | grep -oE 'crg_[0-9A-Za-z]+' | head -n 1)
tracking() {
    curl --silent --fail --output /dev/null "http://127.0.0.1:8080/cargo/$cargo/tracking" -H "X-API-Key: $key"
}
tracking
before=$(main_pid all)
systemctl restart longshored-all
within 30 health 8080 --ready
[[ $(main_pid all) != "$before" ]]
systemctl reload longshored-all
kill -KILL "$(main_pid all)"
within 30 health 8080 --ready
tracking

step "upgrade"
before=$(main_pid all)
dpkg --install --force-confold longshore_0.0.2_*.deb
[[ $(version) == 0.0.2 ]]
# The running process goes on until the operator restarts it.
[[ $(main_pid all) == "$before" ]]
health 8080
grep -q '^SVC_DATABASE_URL_FILE=' /etc/longshore/longshored.env
# The version before may not know this setting.
grep -q '^SVC_DURABILITY=' /etc/longshore/longshored.env ||
    echo 'SVC_DURABILITY=one-server' >>/etc/longshore/longshored.env
if [[ -e has-new-migrations ]]; then fails nothing_is_left; fi
longshored-run migrate
nothing_is_left
systemctl restart longshored-all
within 30 health 8080 --ready
longshored-run doctor
tracking
has_guide
for role in serve work all; do
    systemd-analyze security --threshold=20 "longshored-$role" >security || { cat security; exit 1; }
    sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p' security >>exposures
done
sort --numeric-sort exposures | tail -n 1 >exposure
echo "exposure of the units: $(tr '\n' ' ' <exposures)"

step "serve and work beside each other"
systemctl disable --now longshored-all
systemctl enable --now longshored-serve longshored-work
within 30 health 8080 --ready
within 30 health 9091 --ready
tracking
has_guide

step "remove and purge"
dpkg --remove longshore
fails systemctl is-active --quiet longshored-serve
fails systemctl is-active --quiet longshored-work
[[ ! -e /usr/bin/longshored && ! -e /etc/systemd/system/multi-user.target.wants/longshored-serve.service ]]
[[ -f /etc/longshore/longshored.env ]]
dpkg --purge longshore
[[ ! -e /etc/longshore && ! -e /var/log/longshore ]]
touch passed
step "passed"
