#!/bin/sh
# Pins and hashes what CI and a reproducible install take, from pyproject.toml:
#     sh requirements/compile.sh [PYTHON]
# run: claw alone; postgres: with that extra; test, dev: CI; build: what
# makes claw's own wheel. PYTHON is the oldest that claw runs on (3.11); a
# virtual environment of its own, thrown away afterwards, holds pip-tools.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${1:-python3.11}" -m venv "$scratch"
"$scratch/bin/pip" install -q "pip-tools>=7.5"

pin() { # pin NAME OPTION...
    file=requirements/$1.txt
    shift
    "$scratch/bin/pip-compile" -q --upgrade --generate-hashes \
        --allow-unsafe --strip-extras --no-header --no-annotate \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
        "$@" --output-file "$file" pyproject.toml
    # claw itself, which `dev` names, is what CI tests, not what it pins
    sed -i -e '/^#/d' -e '/^claw @/d' -e '/^$/d' "$file"
}

pin dev --extra dev
# The same versions everywhere: what is tested is what is installed.
for extra in test postgres; do
    pin "$extra" --extra "$extra" --constraint requirements/dev.txt
done
pin run --constraint requirements/dev.txt
pin build --build-deps-for wheel --only-build-deps
