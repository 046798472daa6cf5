#!/bin/sh
# Installs the wheel of /source/dist in /opt/foreseal; builds the wheel first if there is none. $1 is the Rust toolchain.
set -eu

if ! ls /source/dist/foreseal-*.whl >/dev/null 2>&1; then
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential curl python3-dev
	curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain "$1"
	python3 -m venv /build
	/build/bin/pip install --no-cache-dir 'maturin>=1.16,<2'
	(cd /source && PATH="$HOME/.cargo/bin:$PATH" /build/bin/maturin build --profile dist --out dist)
fi
python3 -m venv /opt/foreseal
/opt/foreseal/bin/pip install --no-cache-dir --only-binary :all: "$(ls /source/dist/foreseal-*.whl)[payments]"
