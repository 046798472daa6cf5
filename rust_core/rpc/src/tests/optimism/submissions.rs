//! Submissions to the pool of a recorded OP chain.

use super::RecordedChain;
use crate::tests::raw_params;

#[test]
fn recorded_deposits_and_transactions_are_rejected_with_a_reason() {
    RecordedChain::each(|chain| {
        let send = |raw: &str| {
            let raw = alloy_primitives::hex::decode(raw).unwrap();
            chain.bench.error("eth_sendRawTransaction", &raw_params(&raw)).message
        };
        let deposit = chain.expected["deposits"][0]["raw"].as_str().unwrap();
        assert_eq!(send(deposit), "deposit transactions (type 126) are accepted from L1 only");
        let mut signed = chain.blocks().iter().flat_map(RecordedChain::transactions);
        let (signed, _) = signed.find(|(transaction, _)| transaction["type"] == "0x2").unwrap();
        let raw = chain.bench.call("eth_getRawTransactionByHash", &format!("[{}]", signed["hash"]));
        assert_eq!(send(raw.as_str().unwrap()), "nonce too low");
    });
}
