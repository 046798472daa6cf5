use proptest::{collection::vec, prelude::*};

use super::*;

fn pop(queue: &mut FairQueue<u32>) -> Option<(u64, u32)> {
    queue.pop_if(|_| true).map(|popped| (popped.caller, popped.item))
}

/// Pops all items and settles each at `cost`; returns the callers in order.
fn served(queue: &mut FairQueue<u32>, cost: impl Fn(u64) -> i64) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(PoppedItem { caller, estimate, .. }) = queue.pop_if(|_| true) {
        queue.settle(caller, estimate, cost(caller));
        order.push(caller);
    }
    order
}

#[test]
fn items_of_one_caller_stay_in_order() {
    let mut queue = FairQueue::default();
    (0..5).for_each(|item| queue.push(7, item));
    queue.push_front(7, 9);
    let items: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
    assert_eq!(items, [(7, 9), (7, 0), (7, 1), (7, 2), (7, 3), (7, 4)]);
    assert!(queue.is_empty());
}

#[test]
fn an_absent_caller_is_served_before_a_backlog() {
    let mut queue = FairQueue::default();
    (0..100).for_each(|item| queue.push(1, item));
    for _ in 0..20 {
        let popped = queue.pop_if(|_| true).unwrap();
        queue.settle(1, popped.estimate, QUANTUM);
    }
    queue.push(2, 0);
    assert_eq!(pop(&mut queue), Some((2, 0)));
}

#[test]
fn the_first_fresh_item_belongs_to_an_absent_caller() {
    let mut queue = FairQueue::default();
    queue.push(1, 10);
    assert_eq!(queue.first_new_caller(), Some(&10));
    let popped = queue.pop_if(|_| true).unwrap();
    queue.settle(1, popped.estimate, 5 * QUANTUM);
    queue.push(1, 11);
    assert_eq!(queue.first_new_caller(), None);
    queue.push(2, 20);
    assert_eq!(queue.first_new_caller(), Some(&20));
}

#[test]
fn the_indebted_item_belongs_to_the_heaviest_caller() {
    let mut queue = FairQueue::default();
    for (caller, quanta) in [(1, 3), (2, 9), (3, 5)] {
        queue.push(caller, 0);
        queue.push(caller, 1);
        let popped = queue.pop_if(|_| true).unwrap();
        assert_eq!(popped.caller, caller);
        queue.settle(caller, popped.estimate, quanta * QUANTUM);
    }
    queue.push_front(3, 30);
    queue.push_front(1, 10);
    assert_eq!(queue.pop_highest_usage(|item| *item >= 10), Some(30));
    assert_eq!(queue.pop_highest_usage(|item| *item >= 10), Some(10));
    assert_eq!(queue.pop_highest_usage(|item| *item >= 10), None);
    assert_eq!(queue.len(), 3);
}

#[test]
fn an_occasional_caller_never_waits_for_backlogs() {
    let mut queue = FairQueue::default();
    for caller in 1..=50 {
        (0..100).for_each(|item| queue.push(caller, item));
        let popped = queue.pop_if(|_| true).unwrap();
        queue.settle(caller, popped.estimate, 5 * QUANTUM);
    }
    for call in 0..40 {
        queue.push(99, call);
        let popped = queue.pop_if(|_| true).unwrap();
        assert_eq!((popped.caller, popped.item), (99, call));
        queue.settle(99, popped.estimate, 40);
        for _ in 0..3 {
            let popped = queue.pop_if(|_| true).unwrap();
            queue.settle(popped.caller, popped.estimate, 5 * QUANTUM);
        }
    }
}

#[test]
fn processor_time_is_shared_and_not_the_number_of_items() {
    let mut queue = FairQueue::default();
    for item in 0..400 {
        queue.push(1, item);
        queue.push(2, item);
    }
    let order = served(&mut queue, |caller| if caller == 1 { 10 * QUANTUM } else { QUANTUM });
    let (first, second) = order[..220].iter().fold((0, 0), |(first, second), caller| match caller {
        1 => (first + 1, second),
        _ => (first, second + 1),
    });
    assert!((7 * first..=13 * first).contains(&second), "{first} to {second}");
}

#[test]
fn a_debt_outlives_an_empty_queue() {
    let mut queue = FairQueue::default();
    queue.push(1, 0);
    let popped = queue.pop_if(|_| true).unwrap();
    queue.settle(1, popped.estimate, 50 * QUANTUM);
    for item in 0..30 {
        queue.push(2, item);
    }
    queue.push(1, 1);
    let order = served(&mut queue, |_| QUANTUM);
    assert_eq!(order.iter().position(|caller| *caller == 1), Some(30), "{order:?}");
}

#[test]
fn state_of_one_time_callers_is_removed() {
    let mut queue = FairQueue::default();
    for caller in 0..100_000 {
        queue.push(caller, 1);
        let popped = queue.pop_if(|_| true).unwrap();
        assert_eq!(popped.caller, caller);
        queue.settle(caller, popped.estimate, MIN_COST);
    }
    assert!(queue.flows.len() <= 2 * MAX_REMEMBERED, "{} are remembered", queue.flows.len());
    assert_eq!(queue.flows.len(), queue.backlog.len() + queue.new_callers.len());
}

#[test]
fn an_unaccepted_item_stays_and_blocks_no_other_caller() {
    let mut queue = FairQueue::default();
    queue.push(1, 10);
    queue.push(2, 3);
    let small = |queue: &mut FairQueue<u32>| queue.pop_if(|item| *item < 5).map(|popped| popped.item);
    assert_eq!(small(&mut queue), Some(3));
    assert_eq!(small(&mut queue), None);
    assert_eq!(queue.len(), 1);
}

#[test]
fn the_caller_with_the_most_items_is_found() {
    let mut queue = FairQueue::default();
    assert_eq!(queue.longest(), None);
    queue.push(1, 0);
    (0..3).for_each(|item| queue.push(2, item));
    assert_eq!(queue.longest(), Some((2, 3)));
    assert_eq!(queue.pop_newest(2, |_| true), Some(2));
    assert_eq!(queue.pop_newest(2, |_| false), None);
    assert_eq!((queue.len(), queue.caller_len(2)), (3, 2));
}

#[derive(Clone, Debug)]
enum Action {
    Push(u64),
    PushFront(u64),
    Pop(i64),
    PopNewest(u64),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..6_u64).prop_map(Action::Push),
        1 => (0..6_u64).prop_map(Action::PushFront),
        3 => (0..9_000_i64).prop_map(Action::Pop),
        1 => (0..6_u64).prop_map(Action::PopNewest),
    ]
}

proptest! {
    /// Each item is popped once, a non-empty queue always serves, and the order of a caller's items never
    /// changes.
    #[test]
    fn nothing_is_lost_or_served_twice(actions in vec(action(), 0..300)) {
        let mut queue = FairQueue::default();
        let mut model: HashMap<u64, VecDeque<u32>> = HashMap::new();
        let mut next = 0;
        for action in actions {
            match action {
                Action::Push(caller) => {
                    queue.push(caller, next);
                    model.entry(caller).or_default().push_back(next);
                    next += 1;
                }
                Action::PushFront(caller) => {
                    queue.push_front(caller, next);
                    model.entry(caller).or_default().push_front(next);
                    next += 1;
                }
                Action::Pop(cost) => match queue.pop_if(|_| true) {
                    Some(PoppedItem { caller, item, estimate }) => {
                        prop_assert_eq!(model.get_mut(&caller).and_then(VecDeque::pop_front), Some(item));
                        queue.settle(caller, estimate, cost);
                    }
                    None => prop_assert!(model.values().all(VecDeque::is_empty)),
                },
                Action::PopNewest(caller) => {
                    let expected = model.get_mut(&caller).and_then(VecDeque::pop_back);
                    prop_assert_eq!(queue.pop_newest(caller, |_| true), expected);
                }
            }
            prop_assert_eq!(queue.len(), model.values().map(VecDeque::len).sum::<usize>());
        }
    }
}
