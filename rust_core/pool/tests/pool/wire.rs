//! Encoding of responses and events.

use std::sync::LazyLock;

use alloy_primitives::{B256, U256};
use foreseal_pool::{
    AddedTransaction, AdditionalFees, Admission, DropReason, Dropped, Fees, PoolConfig, PoolError, PoolEvent,
    QueuedReason,
};
use foreseal_primitives::wire;
use foreseal_state::{StateError, TrieName};
use proptest::{prelude::*, strategy::ValueTree};

use crate::random_operations::{Operation, World, bytes, operation, small};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,40}"]
}

fn uint256() -> impl Strategy<Value = U256> {
    any::<[u64; 4]>().prop_map(U256::from_limbs)
}

fn hash() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

fn fees() -> impl Strategy<Value = Box<Fees>> {
    (any::<u128>(), any::<u128>(), prop_oneof![Just(None), Just(Some(0)), any::<u128>().prop_map(Some)])
        .prop_map(|(max_fee, tip, blob_fee)| Box::new(Fees { max_fee, tip, blob_fee }))
}

fn state_error() -> impl Strategy<Value = StateError> {
    use StateError as S;
    let trie = prop_oneof![Just(TrieName::Accounts), hash().prop_map(TrieName::Storage)];
    let node = (trie, prop::collection::vec(0..16_u8, 0..64));
    prop_oneof![
        hash().prop_map(S::MissingCode),
        text().prop_map(S::Store),
        Just(S::ViewGone),
        any::<(u64, u64)>().prop_map(|(block, oldest)| S::Pruned { block, oldest }),
        node.clone().prop_map(|(trie, path)| S::NodeMissing { trie, path: path.into() }),
        node.clone().prop_map(|(trie, path)| S::NodeHash { trie, path: path.into() }),
        node.prop_map(|(trie, path)| S::NodeMalformed { trie, path: path.into() }),
    ]
}

/// Generates every error.
fn error() -> impl Strategy<Value = PoolError> {
    use PoolError as E;
    let fixed = prop::sample::select(vec![
        E::AlreadyKnown,
        E::Signature,
        E::NonceMax,
        E::EmptyAuthorizationList,
        E::NoBlobs,
        E::MissingSidecar,
        E::SenderHasCode,
        E::BlobsUnsupported,
        E::DepositSubmitted,
    ]);
    let two = any::<(u64, u64)>();
    let sizes = any::<(usize, usize)>();
    prop_oneof![
        fixed,
        any::<(u64, u64, u64)>().prop_map(|(nonce, account_nonce, next_nonce)| E::NonceTooLow {
            nonce,
            account_nonce,
            next_nonce
        }),
        (uint256(), uint256()).prop_map(|(balance, cost)| E::InsufficientFunds { balance, cost }),
        (uint256(), uint256(), uint256(), uint256()).prop_map(|(balance, cost, l1, operator)| {
            E::InsufficientFundsForFees { balance, cost, fees: Box::new(AdditionalFees { l1, operator }) }
        }),
        (fees(), fees()).prop_map(|(offered, pooled)| E::ReplacementUnderpriced { offered, pooled }),
        sizes.prop_map(|(size, limit)| E::TooLarge { size, limit }),
        text().prop_map(E::Decode),
        two.prop_map(|(have, want)| E::ChainId { have, want }),
        any::<u8>().prop_map(|kind| E::TypeNotActive { kind }),
        any::<(u128, u128)>().prop_map(|(tip, max_fee)| E::TipAboveMaxFee { tip, max_fee }),
        sizes.prop_map(|(size, limit)| E::InitCodeTooLarge { size, limit }),
        two.prop_map(|(have, want)| E::IntrinsicGas { have, want }),
        two.prop_map(|(have, want)| E::FloorGas { have, want }),
        two.prop_map(|(have, cap)| E::GasCap { have, cap }),
        two.prop_map(|(have, limit)| E::BlockGasLimit { have, limit }),
        two.prop_map(|(have, limit)| E::Footprint { have, limit }),
        two.prop_map(|(have, limit)| E::TooManyBlobs { have, limit }),
        any::<u8>().prop_map(|want| E::SidecarVersion { want }),
        text().prop_map(E::Sidecar),
        any::<usize>().prop_map(|limit| E::SenderFull { limit }),
        any::<usize>().prop_map(|limit| E::PoolFull { limit }),
        any::<(u128, u128)>().prop_map(|(tip, min_tip)| E::Underpriced { tip, min_tip }),
        sizes.prop_map(|(size, limit)| E::SenderBytes { size, limit }),
        state_error().prop_map(E::State),
    ]
}

fn waiting() -> impl Strategy<Value = QueuedReason> {
    use QueuedReason as W;
    prop_oneof![
        any::<u64>().prop_map(|expected| W::NonceGap { expected }),
        (uint256(), uint256()).prop_map(|(balance, cost)| W::Funds { balance, cost }),
        any::<(u128, u128)>().prop_map(|(max_fee, base_fee)| W::BaseFee { max_fee, base_fee }),
        any::<(u128, u128)>().prop_map(|(max_fee, blob_base_fee)| W::BlobBaseFee { max_fee, blob_base_fee }),
        any::<u64>().prop_map(|nonce| W::Predecessor { nonce }),
    ]
}

fn reason() -> impl Strategy<Value = DropReason> {
    use DropReason as R;
    let fixed = prop::sample::select(vec![R::NonceTooLow, R::Evicted, R::SenderFull, R::Requested]);
    prop_oneof![fixed, text().prop_map(R::NotReinjected), text().prop_map(R::Rejected)]
}

fn admission() -> impl Strategy<Value = Admission> {
    let dropped = (hash(), reason()).prop_map(|(hash, reason)| Dropped { hash, reason });
    let evicted = prop::collection::vec(dropped, 0..4);
    let added = (hash(), any::<bool>(), prop::option::of(hash()), evicted);
    let added = added.prop_map(|(hash, executable, replaced, evicted)| AddedTransaction {
        hash,
        executable,
        replaced,
        evicted,
    });
    prop_oneof![added.prop_map(Admission::Added), waiting().prop_map(Admission::WouldQueue)]
}

/// Encoded events of every kind, from a short history.
static EVENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut world = World::new(&small());
    let mut events = Vec::new();
    for _ in 0..120 {
        let operation = operation().new_tree(&mut runner).unwrap().current();
        // A blob is large, and a decoder treats all its bytes alike.
        if !matches!(operation, Operation::SubmitBlob) {
            world.apply(&operation);
            events.extend(world.events());
        }
    }
    events.push(world.original.whole_pool_event(|event| bytes(&event)));
    events
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn an_answer_round_trips(error in error(), admission in admission()) {
        let read: PoolError = wire::decode(&wire::to_vec(&error)).unwrap();
        prop_assert_eq!((read.message(), read.data()), (error.message(), error.data()));
        prop_assert_eq!(read, error);
        let mut out = wire::to_vec(&admission);
        prop_assert_eq!(wire::decode::<Admission>(&out), Ok(admission));
        out.push(0);
        prop_assert!(wire::decode::<Admission>(&out).is_err());
        out.pop();
        out.pop();
        prop_assert!(wire::decode::<Admission>(&out).is_err());
    }

    /// Every event that decodes can be applied, and its encoding round-trips.
    #[test]
    fn a_corrupted_event_is_rejected_or_applied(
        which in any::<prop::sample::Index>(),
        breaks in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..4),
        other in any::<prop::sample::Index>(),
    ) {
        let mut event = which.get(EVENTS.as_slice()).clone();
        for (at, byte, how) in breaks {
            let at = at.index(event.len().max(1));
            match how {
                _ if event.is_empty() => event.push(byte),
                0 => event[at] = byte,
                1 => event.insert(at, byte),
                2 => event.truncate(at),
                _ => { event.remove(at); }
            }
        }
        let next: &Vec<u8> = other.get(EVENTS.as_slice()); try_event(&event, next);
    }

    #[test]
    fn any_bytes_are_rejected_or_an_applicable_event(kind in 0..4_u8, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_event(&[vec![kind], bytes].concat(), &EVENTS[0]);
    }
}

fn try_event(event: &[u8], next: &[u8]) {
    let _ = (wire::decode::<PoolError>(event), wire::decode::<Admission>(event));
    let Ok(read) = wire::decode::<PoolEvent>(event) else { return };
    let again = bytes(&read);
    assert_eq!(bytes(&wire::decode::<PoolEvent>(&again).unwrap()), again);
    let copy = foreseal_pool::Pool::new(PoolConfig::default());
    copy.apply(wire::decode::<PoolEvent>(EVENTS.last().unwrap()).unwrap());
    copy.apply(read);
    copy.apply(wire::decode::<PoolEvent>(next).unwrap());
    let counts = copy.counts();
    assert_eq!(counts.pooled + counts.queued, copy.all().len());
    for one in copy.all() {
        copy.status(&one.hash());
        copy.next_nonce(&one.sender(), one.nonce());
    }
    assert!(copy.best(0, 0).count() <= counts.pooled);
}

#[test]
fn an_empty_event_is_rejected() {
    assert!(wire::decode::<PoolEvent>(&[]).is_err());
    assert!(wire::decode::<PoolEvent>(&[9]).is_err());
    assert!(wire::decode::<PoolEvent>(&[0, 0]).is_ok(), "no changes");
    assert!(wire::decode::<PoolEvent>(&[0]).is_err(), "the number of changes is missing");
}
