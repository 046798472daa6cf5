//! Decoder of the output of a reverted call (Solidity's `Error(string)` and `Panic(uint256)`).

use std::fmt::Write as _;

use alloy_primitives::{U256, hex};

/// Selector of `Error(string)`.
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Selector of `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
/// Maximum number of characters of a reason in a message; `data` always has the full output.
const MAX_REASON: usize = 1024;

/// Returns the reason that `output` encodes, if any.
pub fn reason(output: &[u8]) -> Option<String> {
    let (selector, arguments) = output.split_first_chunk::<4>()?;
    match *selector {
        ERROR => error_text(arguments),
        PANIC => read_word(arguments, 0).map(panic_text),
        _ => None,
    }
}

/// Returns `execution reverted`, followed by the reason if `output` encodes one.
pub fn message(output: &[u8]) -> String {
    message_with(reason(output))
}

/// Returns the message like [`message`], and names the selector of a custom error.
pub fn detailed_message(output: &[u8]) -> String {
    message_with(reason(output).or_else(|| custom_error(output)))
}

fn message_with(reason: Option<String>) -> String {
    let mut message = "execution reverted".to_owned();
    if let Some(reason) = reason {
        message.push_str(": ");
        message.extend(reason.chars().take(MAX_REASON));
    }
    message
}

/// Returns the selector of a custom error, in the words of anvil.
fn custom_error(output: &[u8]) -> Option<String> {
    let (selector, arguments) = output.split_first_chunk::<4>()?;
    let is_custom = ![ERROR, PANIC].contains(selector) && arguments.len() % 32 == 0;
    is_custom.then(|| format!("custom error {}", hex::encode_prefixed(selector)))
}

fn read_word(bytes: &[u8], at: usize) -> Option<U256> {
    let end = at.checked_add(32)?;
    Some(U256::from_be_slice(bytes.get(at..end)?))
}

/// Decodes the ABI-encoded string of `Error`.
fn error_text(arguments: &[u8]) -> Option<String> {
    let offset = usize::try_from(read_word(arguments, 0)?).ok()?;
    let length = usize::try_from(read_word(arguments, offset)?).ok()?;
    let start = offset.checked_add(32)?;
    let text = arguments.get(start..start.checked_add(length)?)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Returns geth's message for a Solidity panic code.
fn panic_text(code: U256) -> String {
    let known = match u64::try_from(code) {
        Ok(0x00) => "generic panic",
        Ok(0x01) => "assert(false)",
        Ok(0x11) => "arithmetic underflow or overflow",
        Ok(0x12) => "division or modulo by zero",
        Ok(0x21) => "enum overflow",
        Ok(0x22) => "invalid encoded storage byte array accessed",
        Ok(0x31) => "out-of-bounds array access; popping on an empty array",
        Ok(0x32) => "out-of-bounds access of an array or bytesN",
        Ok(0x41) => "out of memory",
        Ok(0x51) => "uninitialized function",
        _ => {
            let mut text = "unknown panic code: ".to_owned();
            // Writing to a string cannot fail.
            let _ = write!(text, "{code:#x}");
            return text;
        }
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn revert_reasons_are_decoded_as_in_the_execution_api() {
        let error = hex!(
            "08c379a00000000000000000000000000000000000000000000000000000000000000020"
            "000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72"
        );
        assert_eq!(message(&error), "execution reverted: user error");
        let panic = hex!("4e487b710000000000000000000000000000000000000000000000000000000000000001");
        assert_eq!(message(&panic), "execution reverted: assert(false)");
        let panic = hex!("4e487b7100000000000000000000000000000000000000000000000000000000000000ff");
        assert_eq!(message(&panic), "execution reverted: unknown panic code: 0xff");
        assert_eq!(message(&[]), "execution reverted");
        assert_eq!(message(&error[..40]), "execution reverted", "a cut string is no reason");
    }

    #[test]
    fn only_the_detailed_message_names_a_custom_error() {
        let plain = hex!("82b42900");
        assert_eq!(message(&plain), "execution reverted");
        assert_eq!(detailed_message(&plain), "execution reverted: custom error 0x82b42900");
        let argument = [&plain[..], &[7; 32]].concat();
        assert_eq!(detailed_message(&argument), "execution reverted: custom error 0x82b42900");
        let panic = hex!("4e487b710000000000000000000000000000000000000000000000000000000000000011");
        assert_eq!(detailed_message(&panic), "execution reverted: arithmetic underflow or overflow");
        for other in [&hex!("4e487b71")[..], &hex!("08c379a0"), &hex!("82b429"), &hex!("82b4290000"), &[]] {
            assert_eq!(detailed_message(other), "execution reverted", "{other:?} encodes no error");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_revert_output_has_a_message(head in prop::sample::select(vec![ERROR, PANIC]),
                                words in prop::collection::vec(prop::sample::select(
                                    vec![[0u8; 32], [0xff; 32], U256::from(32).to_be_bytes(), U256::from(5).to_be_bytes()]), 0..5),
                                tail in prop::collection::vec(any::<u8>(), 0..40)) {
            let output = [&head[..], &words.concat(), &tail].concat();
            prop_assert!(message(&output).starts_with("execution reverted"));
            prop_assert!(detailed_message(&output).starts_with(&message(&output)));
        }
    }
}
