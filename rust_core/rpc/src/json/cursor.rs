//! Cursor: the position of a step.

use foreseal_chain::StepCursor;

use super::object::Object;

/// Writes the position of a step as a cursor.
pub fn write_cursor(out: &mut Vec<u8>, cursor: &StepCursor) {
    Object::open(out)
        .quantity("block", cursor.number)
        .quantity("index", cursor.index)
        .data("hash", cursor.hash)
        .close();
}
