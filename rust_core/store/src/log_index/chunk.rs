//! Encoding of one chunk: the low bits of the ordinals that have a criterion.
//!
//! Most criteria are rare. A few ordinals are stored as a plain list: a tag byte, then two bytes
//! each. More ordinals are stored as a roaring bitmap in its portable format, including runs.
//! Ordinals are only added and removed at the end.

use roaring::RoaringBitmap;

/// Tag byte of the two forms.
const LIST: u8 = 0;
const BITMAP: u8 = 1;
/// Maximum length of a plain list; a bitmap has an overhead of 16 bytes.
const MAX_LIST: usize = 32;

/// Error for bytes that are not a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAChunk;

/// Reads a chunk.
pub(super) fn read(bytes: &[u8]) -> Result<RoaringBitmap, NotAChunk> {
    let chunk = match bytes.split_first() {
        Some((&LIST, list)) => RoaringBitmap::from_sorted_iter(entries(list)?).map_err(|_| NotAChunk)?,
        Some((&BITMAP, bitmap)) => RoaringBitmap::deserialize_from(bitmap).map_err(|_| NotAChunk)?,
        _ => return Err(NotAChunk),
    };
    if chunk.max().is_some_and(|max| u16::try_from(max).is_ok()) { Ok(chunk) } else { Err(NotAChunk) }
}

/// Writes a chunk into `out`, replacing its content.
pub(super) fn write(chunk: &mut RoaringBitmap, out: &mut Vec<u8>) {
    out.clear();
    if usize::try_from(chunk.len()).is_ok_and(|length| length <= MAX_LIST) {
        out.push(LIST);
        for low in &*chunk {
            out.extend_from_slice(&low_bits(low).to_le_bytes());
        }
        return;
    }
    chunk.optimize();
    out.push(BITMAP);
    chunk.serialize_into(out).expect("writing into memory does not fail");
}

/// Decodes a chunk and encodes it again. Returns `None` if the bytes are not one.
pub(crate) fn rewritten(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write(&mut read(bytes).ok()?, &mut out);
    Some(out)
}

/// Writes the chunk `old` (empty for none) with `lows` added into `out`.
/// `lows` ascend, above all that `old` holds.
pub(super) fn append(old: &[u8], lows: &[u16], out: &mut Vec<u8>) -> Result<(), NotAChunk> {
    let list = match old.split_first() {
        None => Some(&[][..]),
        Some((&LIST, list)) => Some(list),
        Some(_) => None,
    };
    match list {
        Some(list) if list.len() / 2 + lows.len() <= MAX_LIST => {
            if entries(list)?.last().zip(lows.first()).is_some_and(|(last, first)| last >= u32::from(*first))
            {
                return Err(NotAChunk);
            }
            out.clear();
            out.push(LIST);
            out.extend_from_slice(list);
            out.extend(lows.iter().flat_map(|low| low.to_le_bytes()));
        }
        _ => {
            let mut chunk = if old.is_empty() { RoaringBitmap::new() } else { read(old)? };
            chunk.append(lows.iter().copied().map(u32::from)).map_err(|_| NotAChunk)?;
            write(&mut chunk, out);
        }
    }
    Ok(())
}

fn entries(list: &[u8]) -> Result<impl Iterator<Item = u32>, NotAChunk> {
    let (pairs, rest) = list.as_chunks::<2>();
    if rest.is_empty() {
        Ok(pairs.iter().map(|pair| u32::from(u16::from_le_bytes(*pair))))
    } else {
        Err(NotAChunk)
    }
}

fn low_bits(low: u32) -> u16 {
    u16::try_from(low).expect("a chunk holds at most 16 bits")
}
