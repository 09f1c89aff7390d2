# shellcheck shell=bash
# `./dev rules`: alert rules, their tests and dashboards in monitoring/, from tools/monitoring.

rules() {
    if [[ ${1:-} == --check ]]; then
        [[ $# == 1 ]] || fail "usage: ./dev rules [--check | --to FOLDER [--factor 1/60] [--runbooks URL]]"
        need promtool
        check_rules
        return
    fi
    need rules
    python3 -B tools/monitoring/monitoring.py write "$@"
}

# The committed files are those of tools/monitoring, name only existing metrics, and pass their tests.
check_rules() { python3 -B tools/monitoring/monitoring.py check; }
