# shellcheck shell=bash
# `./dev book`: all documents as a site, and the guide of a release. `./dev settings-page`: the page of all settings.

missing_book() { missing_python; }

# A virtual environment with the parser of Markdown.
install_book() { python_packages tools/guide/requirements.txt "$CACHE/guide"; }

# write_book [FOLDER] [--check] [--source-url URL]
write_book() {
    local folder=dist/guide options=()
    need book
    while [[ $# -gt 0 ]]; do
        case $1 in
            --check) options+=(--check) ;;
            --source-url) options+=(--source-url "${2:?usage: --source-url URL}"); shift ;;
            -*) fail "usage: ./dev book [FOLDER] [--check] [--source-url URL]" ;;
            *) folder=$1 ;;
        esac
        shift
    done
    if [[ " ${options[*]} " == *" --check "* ]]; then
        # The caller may have a scratch folder already.
        folder=$(mktemp -d /var/tmp/longshore.XXXXXX)
        "$CACHE/guide/bin/python" -B tools/guide/build.py "$folder" "${options[@]}" || {
            rm -rf "$folder"
            return 1
        }
        rm -rf "$folder"
    else
        mkdir -p "$(dirname "$folder")"
        "$CACHE/guide/bin/python" -B tools/guide/build.py "$folder" "${options[@]}"
        say "open $folder/index.html, or set SVC_GUIDE_DIR=$(realpath "$folder") and open /guide"
    fi
}

# The guide that a release, the image and the package have. Its bytes follow from the checkout alone: build_guide FOLDER.
# It does not rewrite llms.txt, and fails if that is stale.
build_guide() {
    need book
    say "writing the guide"
    mkdir -p "$(dirname "$1")"
    "$CACHE/guide/bin/python" -B tools/guide/build.py "$1" --check >&2 || fail "the guide was not written: see above"
    # Every user reads it, whatever the umask of this machine is.
    chmod -R u=rwX,go=rX "$1"
}

# A test fails while the committed page is another one.
write_settings_page() {
    need compiler
    build_longshored
    # Only the table of the code matters, not the settings of this shell.
    env -i "$LONGSHORED" config --markdown >docs/settings.md.new
    mv docs/settings.md.new docs/settings.md
    say "docs/settings.md has the settings of this checkout"
}
