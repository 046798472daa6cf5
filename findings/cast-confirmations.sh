#!/bin/sh
# Confirmations that `cast send --confirmations 3` and `cast receipt --confirmations 3` wait for.
#
# anvil seals each transaction before its submission returns, or each 2 s, and nothing else is sent.
#
# Versions: cast and anvil 1.7.1.
# Run: sh findings/cast-confirmations.sh (needs node and npm; Linux on x86_64). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * cast reads the receipt once before it waits. If it exists already, cast returns it, and ignores `--confirmations`:
#   so on each chain that seals at once, and with `cast receipt` for each transaction that is sealed.
# * If there is no receipt yet, cast waits for all the blocks.
#
# Output:
#
# sealed at once, cast send: 1 confirmations
# sealed at once, cast receipt: 1 confirmations
# sealed each 2 s, cast send: 3 confirmations
set -eu
folder=$(mktemp -d)
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
    @foundry-rs/anvil-linux-amd64@1.7.1 @foundry-rs/cast-linux-amd64@1.7.1
cast=node_modules/@foundry-rs/cast-linux-amd64/bin/cast
key=0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80

start() {
    : > anvil.log
    node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil --port 0 "$@" > anvil.log &
    node=$!
    trap 'kill $node; rm -rf "$folder"' EXIT
    until grep -q 'Listening on' anvil.log; do sleep 0.1; done
    ETH_RPC_URL=http://$(sed -n 's/^Listening on //p' anvil.log)
    export ETH_RPC_URL
}

# Prints the number of blocks from that of a transaction to the newest one.
confirmations() {
    newest=$("$cast" block-number)
    block=$("$cast" receipt "$1" blockNumber)
    echo "$((newest - block + 1)) confirmations"
}

send() {
    "$cast" send --private-key $key --confirmations 3 0x1111111111111111111111111111111111111111 --json |
        sed 's/.*"transactionHash":"\([^"]*\)".*/\1/'
}

{
    start
    hash=$(send)
    echo "sealed at once, cast send: $(confirmations "$hash")"
    "$cast" receipt --confirmations 3 "$hash" > receipt
    echo "sealed at once, cast receipt: $(confirmations "$hash")"
    kill $node
    start --block-time 2
    echo "sealed each 2 s, cast send: $(confirmations "$(send)")"
} > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
