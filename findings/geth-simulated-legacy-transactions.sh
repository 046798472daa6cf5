#!/bin/sh
# Transactions that `eth_simulateV1` of geth returns for calls with a gas price.
#
# The node is `geth --dev`, chain 1337. Each request simulates one call with `returnFullTransactions`.
#
# Versions: go-ethereum 1.17.10, Go 1.25 or newer.
# Run: sh findings/geth-simulated-legacy-transactions.sh (needs go and curl). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * A call with `gasPrice` becomes an unsigned legacy transaction with v = 0. Its `chainId` is computed from that v
#   (EIP-155: (0 - 35) / 2 in 64 bits), and is not the chain's.
# * With `gasPrice`, the authorizations of a call are executed, but the transaction of the block has none: it is legacy,
#   and its hash does not cover them. With `maxFeePerGas` it has them.
#
# Output:
#
# gasPrice: type 0x0, chain 0x7fffffffffffffee, gas 0x5208, 0 authorizations
# gasPrice and an authorization: type 0x0, chain 0x7fffffffffffffee, gas 0xb3b0, 0 authorizations
# maxFeePerGas and an authorization: type 0x4, chain 0x539, gas 0xb3b0, 1 authorizations
set -eu
folder=$(mktemp -d)
trap 'kill $node; rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
GOBIN=$folder go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.10 2> build.log
./geth --dev --datadir data --ipcdisable --port 0 --authrpc.port 0 --http --http.port 0 2> log &
node=$!
until grep -q 'HTTP server started.*auth=false' log; do sleep 0.1; done
url=http://$(sed -n 's/.*HTTP server started *endpoint=\([^ ]*\) *auth=false.*/\1/p' log)

# Prints fields of the simulated transaction of a call with these members.
simulate() {
    call="{\"from\":\"0x1111111111111111111111111111111111111111\",\"to\":\"0x2222222222222222222222222222222222222222\",$1}"
    params="[{\"blockStateCalls\":[{\"calls\":[$call]}],\"returnFullTransactions\":true},\"latest\"]"
    curl -s -H 'Content-Type: application/json' "$url" \
        -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_simulateV1\",\"params\":$params}" > answer
    field() { sed -n "s/.*\"$1\":\"\(0x[0-9a-f]*\)\".*/\1/p" transaction; }
    sed 's/.*"transactions":\[{/{/; s/}\],"transactionsRoot".*/}/' answer > transaction
    used=$(grep -o '"gasUsed":"0x[0-9a-f]*"' answer | tail -1 | cut -d '"' -f 4)
    listed=$(grep -o '"authorizationList":\[{' transaction | wc -l)
    sed -i 's/"authorizationList":\[[^]]*\],*//' transaction
    echo "type $(field type), chain $(field chainId), gas $used, $((listed)) authorizations"
}

# Any signature recovers an authority.
signature="\"yParity\":\"0x0\",\"r\":\"0x1\",\"s\":\"0x1\""
list="\"authorizationList\":[{\"chainId\":\"0x0\",\"address\":\"0x3333333333333333333333333333333333333333\",\"nonce\":\"0x0\",$signature}]"
{
    echo "gasPrice: $(simulate '"gasPrice":"0x0"')"
    echo "gasPrice and an authorization: $(simulate "\"gasPrice\":\"0x0\",$list")"
    echo "maxFeePerGas and an authorization: $(simulate "\"maxFeePerGas\":\"0x0\",$list")"
} > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
