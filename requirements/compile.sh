#!/bin/sh
# Pins and hashes what CI installs, from pyproject.toml:
#     sh requirements/compile.sh [PYTHON]
# PYTHON is the oldest that claw runs on (3.11); a virtual environment of
# its own, thrown away afterwards, holds pip-tools.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${1:-python3.11}" -m venv "$scratch"
"$scratch/bin/pip" install -q "pip-tools>=7.5"
for extra in test dev; do
    "$scratch/bin/pip-compile" -q --upgrade --generate-hashes \
        --allow-unsafe --strip-extras --no-header --no-annotate \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
        --extra "$extra" \
        --output-file "requirements/$extra.txt" pyproject.toml
    # claw itself, which `dev` names, is what CI tests, not what it pins
    sed -i -e '/^#/d' -e '/^claw @/d' -e '/^$/d' "requirements/$extra.txt"
done
