//! State writes of the development helpers.

use alloy_primitives::{Address, Bytes, U256};
use alloy_rlp::{BufMut, Decodable, Encodable, Header};

/// One change of one account, written without a transaction. Exists only on development chains.
///
/// The requested change is stored, not only its result: a block that is rebuilt under another header writes
/// it again, on top of the results of its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pub address: Address,
    pub change: Change,
}

/// The field that an [`Override`] sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Balance in wei.
    Balance(U256),
    Nonce(u64),
    Code(Bytes),
    /// One storage slot; zero deletes it.
    Slot {
        slot: U256,
        value: U256,
    },
}

const BALANCE: u8 = 1;
const NONCE: u8 = 2;
const CODE: u8 = 3;
const SLOT: u8 = 4;

impl Override {
    fn payload_length(&self) -> usize {
        let change = match &self.change {
            Change::Balance(wei) => BALANCE.length() + wei.length(),
            Change::Nonce(nonce) => NONCE.length() + nonce.length(),
            Change::Code(code) => CODE.length() + code.length(),
            Change::Slot { slot, value } => SLOT.length() + slot.length() + value.length(),
        };
        self.address.length() + change
    }
}

impl Encodable for Override {
    /// Encodes the list `[address, kind, values...]`.
    fn encode(&self, out: &mut dyn BufMut) {
        Header { list: true, payload_length: self.payload_length() }.encode(out);
        self.address.encode(out);
        match &self.change {
            Change::Balance(wei) => {
                BALANCE.encode(out);
                wei.encode(out);
            }
            Change::Nonce(nonce) => {
                NONCE.encode(out);
                nonce.encode(out);
            }
            Change::Code(code) => {
                CODE.encode(out);
                code.encode(out);
            }
            Change::Slot { slot, value } => {
                SLOT.encode(out);
                slot.encode(out);
                value.encode(out);
            }
        }
    }

    fn length(&self) -> usize {
        Header { list: true, payload_length: self.payload_length() }.length_with_payload()
    }
}

impl Decodable for Override {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let mut payload = Header::decode_bytes(buf, true)?;
        let address = Address::decode(&mut payload)?;
        let change = match u8::decode(&mut payload)? {
            BALANCE => Change::Balance(Decodable::decode(&mut payload)?),
            NONCE => Change::Nonce(Decodable::decode(&mut payload)?),
            CODE => Change::Code(Decodable::decode(&mut payload)?),
            SLOT => Change::Slot {
                slot: Decodable::decode(&mut payload)?,
                value: Decodable::decode(&mut payload)?,
            },
            _ => return Err(alloy_rlp::Error::Custom("override of an unknown kind")),
        };
        if payload.is_empty() {
            Ok(Self { address, change })
        } else {
            Err(alloy_rlp::Error::UnexpectedLength)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_round_trips() {
        for change in [
            Change::Balance(U256::MAX),
            Change::Nonce(7),
            Change::Code(Bytes::from_static(b"\x60\x00")),
            Change::Code(Bytes::new()),
            Change::Slot { slot: U256::from(1), value: U256::ZERO },
        ] {
            let one = Override { address: Address::repeat_byte(3), change };
            let bytes = alloy_rlp::encode(&one);
            assert_eq!(bytes.len(), one.length());
            assert_eq!(alloy_rlp::decode_exact::<Override>(&bytes).unwrap(), one);
        }
    }

    #[test]
    fn an_invalid_override_is_rejected() {
        let good = alloy_rlp::encode(Override { address: Address::ZERO, change: Change::Nonce(1) });
        let mut unknown = good.clone();
        unknown[22] = 9;
        assert!(alloy_rlp::decode_exact::<Override>(&unknown).is_err());
        let mut longer = good.clone();
        longer[0] += 1;
        longer.push(1);
        assert!(alloy_rlp::decode_exact::<Override>(&longer).is_err());
        assert!(alloy_rlp::decode_exact::<Override>(&good[..good.len() - 1]).is_err());
    }
}
