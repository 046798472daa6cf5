//! Deposits (EIP-6110), read from the logs of the deposit contract.

use alloy_primitives::{Address, B256, Log, b256};

use crate::error::ExecutionError;

/// Topic of `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_EVENT: B256 = b256!("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// Length of the event's data in bytes, fixed by EIP-6110.
const DATA_LENGTH: usize = 576;
/// Offset and length of each field in the ABI encoding: public key, withdrawal credentials, amount,
/// signature, index.
const FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];

/// Returns the deposit request data of a block: 192 bytes per deposit, in the order of the logs. Returns no
/// data without a deposit contract.
///
/// # Errors
/// [`ExecutionError::DepositLog`] if the layout of a log differs from EIP-6110.
pub fn deposit_requests<'a>(
    contract: Option<Address>,
    logs: impl IntoIterator<Item = &'a Log>,
) -> Result<Vec<u8>, ExecutionError> {
    let mut out = Vec::new();
    let Some(contract) = contract else { return Ok(out) };
    for log in logs {
        if log.address == contract && log.topics().first() == Some(&DEPOSIT_EVENT) {
            push(&log.data.data, &mut out).ok_or(ExecutionError::DepositLog)?;
        }
    }
    Ok(out)
}

/// Appends the fields of one event; returns `None` if the layout differs.
fn push(data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if data.len() != DATA_LENGTH {
        return None;
    }
    for (index, (offset, length)) in FIELDS.into_iter().enumerate() {
        if read_word(data, index * 32)? != offset || read_word(data, offset)? != length {
            return None;
        }
        let start = offset + 32;
        out.extend_from_slice(data.get(start..start + length)?);
    }
    Some(())
}

/// Decodes a 32-byte big-endian number; returns `None` if it does not fit a `usize`.
fn read_word(data: &[u8], at: usize) -> Option<usize> {
    let (high, low) = data.get(at..at + 32)?.split_at(24);
    let low = u64::from_be_bytes(low.try_into().ok()?);
    high.iter().all(|byte| *byte == 0).then_some(low).and_then(|low| usize::try_from(low).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Bytes;

    const CONTRACT: Address = Address::repeat_byte(7);

    fn event() -> Vec<u8> {
        let mut data = vec![0; DATA_LENGTH];
        for (index, (offset, length)) in FIELDS.into_iter().enumerate() {
            data[index * 32 + 30..index * 32 + 32]
                .copy_from_slice(&u16::try_from(offset).unwrap().to_be_bytes());
            data[offset + 31] = u8::try_from(length).unwrap();
            data[offset + 32..offset + 32 + length].fill(u8::try_from(index + 1).unwrap());
        }
        data
    }

    fn log(address: Address, topic: B256, data: Vec<u8>) -> Log {
        Log::new_unchecked(address, vec![topic], Bytes::from(data))
    }

    #[test]
    fn deposit_fields_are_joined_in_order() {
        let logs = [
            log(CONTRACT, DEPOSIT_EVENT, event()),
            log(CONTRACT, B256::ZERO, vec![1]),
            log(Address::ZERO, DEPOSIT_EVENT, vec![1]),
        ];
        let expected: Vec<u8> =
            [(48, 1), (32, 2), (8, 3), (96, 4), (8, 5)].into_iter().flat_map(|(n, v)| vec![v; n]).collect();
        assert_eq!(deposit_requests(Some(CONTRACT), &logs).unwrap(), expected);
        assert_eq!(deposit_requests(None, &logs).unwrap(), Vec::<u8>::new());
    }

    #[test]
    fn a_deposit_log_with_another_layout_is_an_error() {
        for position in
            (0..DATA_LENGTH).step_by(32).filter(|p| FIELDS.iter().any(|(o, _)| o == p) || *p < 160)
        {
            let mut data = event();
            data[position + 31] ^= 1;
            let logs = [log(CONTRACT, DEPOSIT_EVENT, data)];
            assert_eq!(
                deposit_requests(Some(CONTRACT), &logs),
                Err(ExecutionError::DepositLog),
                "word at {position}"
            );
        }
        let logs = [log(CONTRACT, DEPOSIT_EVENT, event()[1..].to_vec())];
        assert_eq!(deposit_requests(Some(CONTRACT), &logs), Err(ExecutionError::DepositLog));
    }
}
