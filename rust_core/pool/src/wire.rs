//! RLP encoding for other processes. An enum is encoded as a list: the number of the variant, then its
//! fields.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Decodable, Encodable, Error, Header, Result};
use foreseal_state::{StateError, TrieName};

use crate::Fees;

/// A type with a byte encoding. Decoding never panics and uses memory in proportion to the input.
pub(crate) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);

    /// Decodes a value from the front of `bytes` and advances past it.
    fn take(bytes: &mut &[u8]) -> Result<Self>;

    /// Decodes a value that uses all of `bytes`.
    fn take_all(mut bytes: &[u8]) -> Result<Self> {
        let value = Self::take(&mut bytes)?;
        if bytes.is_empty() { Ok(value) } else { Err(Error::UnexpectedLength) }
    }
}

/// Implements [`Wire`] for types that have an RLP encoding in alloy.
macro_rules! plain {
    ($($type:ty),+) => {
        $(impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.encode(out);
            }

            fn take(bytes: &mut &[u8]) -> Result<Self> {
                Decodable::decode(bytes)
            }
        })+
    };
}

plain!(bool, u8, u64, u128, usize, U256, B256, Address, String, Bytes);

/// Implements [`Wire`] for an enum. The number of a variant never changes its meaning.
macro_rules! wire_enum {
    ($type:ident {
        $($tag:literal => $variant:ident $({ $($field:ident),+ })? $(( $place:ident ))?),+ $(,)?
    }) => {
        impl $crate::wire::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let mut fields: Vec<u8> = Vec::new();
                match self {
                    $(Self::$variant $({ $($field),+ })? $(( $place ))? => {
                        $crate::wire::Wire::put(&{ let tag: u8 = $tag; tag }, &mut fields);
                        $($($crate::wire::Wire::put($field, &mut fields);)+)?
                        $($crate::wire::Wire::put($place, &mut fields);)?
                    })+
                }
                $crate::wire::put_list(&fields, out);
            }

            fn take(bytes: &mut &[u8]) -> alloy_rlp::Result<Self> {
                let mut rest = alloy_rlp::Header::decode_bytes(bytes, true)?;
                let value = match <u8 as $crate::wire::Wire>::take(&mut rest)? {
                    $($tag => {
                        $($(let $field = $crate::wire::Wire::take(&mut rest)?;)+)?
                        $(let $place = $crate::wire::Wire::take(&mut rest)?;)?
                        Self::$variant $({ $($field),+ })? $(( $place ))?
                    })+
                    _ => return Err(alloy_rlp::Error::Custom(concat!("unknown kind of ", stringify!($type)))),
                };
                if rest.is_empty() { Ok(value) } else { Err(alloy_rlp::Error::UnexpectedLength) }
            }
        }
    };
}

/// Implements [`Wire`] for a struct, encoded as the list of its fields.
macro_rules! wire_struct {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::wire::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let mut fields: Vec<u8> = Vec::new();
                $($crate::wire::Wire::put(&self.$field, &mut fields);)+
                $crate::wire::put_list(&fields, out);
            }

            fn take(bytes: &mut &[u8]) -> alloy_rlp::Result<Self> {
                let mut rest = alloy_rlp::Header::decode_bytes(bytes, true)?;
                let value = Self { $($field: $crate::wire::Wire::take(&mut rest)?),+ };
                if rest.is_empty() { Ok(value) } else { Err(alloy_rlp::Error::UnexpectedLength) }
            }
        }
    };
}

pub(crate) use {wire_enum, wire_struct};

/// Appends a list with these encoded members.
pub(crate) fn put_list(members: &[u8], out: &mut Vec<u8>) {
    Header { list: true, payload_length: members.len() }.encode(out);
    out.extend_from_slice(members);
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        let mut members = Vec::new();
        for member in self {
            member.put(&mut members);
        }
        put_list(&members, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let mut members = Header::decode_bytes(bytes, true)?;
        let mut all = Self::new();
        while !members.is_empty() {
            all.push(T::take(&mut members)?);
        }
        Ok(all)
    }
}

/// Encoded as a list with one member or none.
impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        let mut member = Vec::new();
        if let Some(value) = self {
            value.put(&mut member);
        }
        put_list(&member, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let member = Header::decode_bytes(bytes, true)?;
        if member.is_empty() { Ok(None) } else { T::take_all(member).map(Some) }
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        T::take(bytes).map(Self::new)
    }
}

wire_struct!(Fees { max_fee, tip, blob_fee });

wire_enum!(TrieName {
    0 => Accounts,
    1 => Storage(account),
});

/// [`StateError`] with the paths of trie nodes as bytes.
enum StateFailure {
    MissingCode(B256),
    Store(String),
    ViewGone,
    Pruned { block: u64, oldest: u64 },
    NodeMissing { trie: TrieName, path: Bytes },
    NodeHash { trie: TrieName, path: Bytes },
    NodeMalformed { trie: TrieName, path: Bytes },
}

wire_enum!(StateFailure {
    0 => MissingCode(hash),
    1 => Store(reason),
    2 => ViewGone,
    3 => Pruned { block, oldest },
    4 => NodeMissing { trie, path },
    5 => NodeHash { trie, path },
    6 => NodeMalformed { trie, path },
});

impl Wire for StateError {
    fn put(&self, out: &mut Vec<u8>) {
        type F = StateFailure;
        let bytes = Bytes::copy_from_slice;
        let failure = match self {
            Self::MissingCode(hash) => F::MissingCode(*hash),
            Self::Store(reason) => F::Store(reason.clone()),
            Self::ViewGone => F::ViewGone,
            Self::Pruned { block, oldest } => F::Pruned { block: *block, oldest: *oldest },
            Self::NodeMissing { trie, path } => F::NodeMissing { trie: *trie, path: bytes(path) },
            Self::NodeHash { trie, path } => F::NodeHash { trie: *trie, path: bytes(path) },
            Self::NodeMalformed { trie, path } => F::NodeMalformed { trie: *trie, path: bytes(path) },
        };
        failure.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        type F = StateFailure;
        Ok(match F::take(bytes)? {
            F::MissingCode(hash) => Self::MissingCode(hash),
            F::Store(reason) => Self::Store(reason),
            F::ViewGone => Self::ViewGone,
            F::Pruned { block, oldest } => Self::Pruned { block, oldest },
            F::NodeMissing { trie, path } => Self::NodeMissing { trie, path: path[..].into() },
            F::NodeHash { trie, path } => Self::NodeHash { trie, path: path[..].into() },
            F::NodeMalformed { trie, path } => Self::NodeMalformed { trie, path: path[..].into() },
        })
    }
}
