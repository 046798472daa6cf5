//! Records of a journal append.

use foreseal_journal::{Record, RecordSummary, decode_records, encode_records, summarize_records};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "record",
    longest: 1024,
    memory: Memory { fixed: 1 << 14, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that decoded records are the same after encoding, and that the outline of each matches it. The
/// first byte is the number of records.
fn run(input: &[u8]) {
    let Some((&count, bytes)) = input.split_first() else { return };
    let count = u32::from(count);
    let Ok(records) = decode_records(bytes, count) else { return };
    assert_eq!(u32::try_from(records.len()), Ok(count));
    let outlines = summarize_records(bytes, count).expect("what decodes has an outline");
    assert_eq!(outlines.len(), records.len());
    for (record, outline) in records.iter().zip(&outlines) {
        check_outline(record, *outline);
    }
    let encoded = encode(&records);
    let again = decode_records(&encoded, count).expect("what was encoded decodes");
    assert_eq!(encode(&again), encoded);
}

fn encode(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_records(records, &mut out);
    out
}

fn check_outline(record: &Record, outline: RecordSummary) {
    match (record, outline) {
        (Record::Step(step) | Record::Override { step, .. }, RecordSummary::Step { number, index, .. }) => {
            assert_eq!((step.number, step.index), (number, index));
        }
        (Record::Unwind { number: to, .. }, RecordSummary::Unwind { number }) => assert_eq!(*to, number),
        (Record::Seal { .. }, RecordSummary::Seal)
        | (Record::Import { .. }, RecordSummary::Import)
        | (Record::Open { .. } | Record::Clock { .. } | Record::Finality { .. }, RecordSummary::Other) => {}
        (record, outline) => panic!("{record:?} is outlined as {outline:?}"),
    }
}
