use super::clock::{Clock, Due};
use crate::profile::{Nanos, Timestamp};

const MS: u64 = 1_000_000;

fn clock() -> Clock {
    Clock::new(Timestamp(1_000 * MS), Nanos(10 * MS), 7)
}

#[test]
fn ticks_keep_their_mean_and_stay_within_a_quarter() {
    let mut clock = clock();
    let mut offsets = Vec::new();
    for index in 0..10_000 {
        let due = clock.next(Timestamp(0));
        assert_eq!((due.index, due.skipped), (index, 0));
        let grid = 1_010 * MS + index * 10 * MS;
        offsets.push(due.planned.0 as i64 - grid as i64);
    }
    let quarter = 10 * MS as i64 / 4;
    assert!(offsets.iter().all(|offset| offset.abs() <= quarter));
    // The mean of n uniform offsets in +-q has a standard deviation of q / sqrt(3 n).
    let mean = offsets.iter().sum::<i64>() as f64 / offsets.len() as f64;
    assert!(mean.abs() < 5.0 * quarter as f64 / (3.0 * offsets.len() as f64).sqrt());
    assert!(offsets.iter().any(|&offset| offset.abs() > quarter / 2));
}

#[test]
fn a_late_tick_is_skipped_and_counted_not_replayed() {
    let mut clock = clock();
    assert_eq!(clock.next(Timestamp(1_000 * MS)).index, 0);
    // Tick 5 is at 1060 ms: a full interval late, as are those before it.
    let Due {
        index,
        skipped,
        planned,
    } = clock.next(Timestamp(1_070 * MS + 5 * MS / 2));
    assert!(index == 6 || index == 7, "{index}");
    assert_eq!(skipped, index - 1);
    assert!(planned + Nanos(5 * MS) >= Timestamp(1_070 * MS + 5 * MS / 2));
    assert_eq!(clock.next(Timestamp(0)).skipped, 0);
}

#[test]
fn a_target_that_was_held_for_long_may_run_for_long() {
    let mut clock = clock();
    let first = clock.next(Timestamp(1_000 * MS));
    let now = first.planned + Nanos(8 * MS);
    clock.held(Nanos(8 * MS), now);
    let next = clock.next(now);
    assert!(next.planned >= now + Nanos(24 * MS));
    assert!(next.skipped >= 2, "{next:?}");
}

#[test]
fn no_time_is_too_late() {
    let mut clock = Clock::new(Timestamp(u64::MAX - 10), Nanos(0), 3);
    clock.held(Nanos(u64::MAX / 2), Timestamp(5));
    let due = Clock::new(Timestamp(0), Nanos(1_000), 1).next(Timestamp(3_600_000_000_000));
    assert!(due.index > 3_000_000_000);
}

#[test]
fn the_middle_of_a_deep_stack_is_left_out_and_counted() {
    use super::samples::omit_middle;
    use crate::profile::{Address, Frame, Marker};
    let frames = |count: u64| -> Vec<Frame> {
        let addresses = (0..count).map(Address);
        addresses
            .map(|address| Frame::Unmapped { address })
            .collect()
    };
    for count in [0, 1, 4096, 4097] {
        let mut kept = frames(count);
        omit_middle(&mut kept);
        assert_eq!(kept, frames(count), "{count}");
    }
    for count in [4098, 100_000] {
        let mut kept = frames(count);
        omit_middle(&mut kept);
        assert_eq!(kept.len(), 4097);
        assert_eq!(kept[2048], Frame::Marker(Marker::Omitted(count - 4096)));
        assert_eq!(kept[..2048], frames(count)[..2048]);
        assert_eq!(kept[2049..], frames(count)[count as usize - 2048..]);
    }
}

#[test]
fn another_stack_grows_with_what_is_wanted_and_is_given_up_when_idle() {
    use super::tree::LiveThread;
    use crate::profile::{Address, ThreadId};
    let mut thread = LiveThread::new(ThreadId(0), None);
    let part = |start, end| Some(Address(start)..Address(end));
    assert_eq!(thread.follow_outer(None, false), None);
    assert_eq!(thread.follow_outer(part(50, 90), false), part(50, 90));
    // Less of the same tells nothing, more of it is taken as well, another one takes its place.
    assert_eq!(thread.follow_outer(part(60, 90), false), None);
    assert_eq!(thread.follow_outer(part(40, 90), false), part(40, 90));
    assert_eq!(thread.follow_outer(part(10, 20), false), part(10, 20));
    for _ in 1..256 {
        assert_eq!(thread.follow_outer(None, true), None);
    }
    assert_eq!(thread.follow_outer(None, true), part(0, 0));
    assert_eq!(thread.follow_outer(None, false), None);
}

#[test]
fn a_bound_on_the_cost_is_kept_by_longer_intervals() {
    let mut clock = clock();
    clock.max_overhead = Some(0.05);
    let (mut now, mut changes, mut last) = (Timestamp(1_000 * MS), Vec::new(), None);
    for _ in 0..2_000 {
        let due = clock.next(now);
        assert!(due.planned >= now && last.is_none_or(|last| due.index > last));
        last = Some(due.index);
        // Four times what is allowed.
        now = due.planned + Nanos(2 * MS);
        changes.extend(clock.held(Nanos(2 * MS), now));
    }
    // 2 ms / 5 %, and a tenth; once.
    assert_eq!(changes, [Nanos(44 * MS)]);
    let due = clock.next(now);
    let following = clock.next(due.planned);
    let apart = following.planned.since(due.planned);
    assert!((22 * MS..=66 * MS).contains(&apart.0), "{apart}");
}

#[test]
fn one_long_hold_does_not_count_and_cheap_times_are_used() {
    let mut clock = clock();
    clock.max_overhead = Some(0.05);
    let mut now = Timestamp(1_000 * MS);
    let mut changes = Vec::new();
    for tick in 0..320 {
        let due = clock.next(now);
        // Cheap; a stall; dear for 32 ticks; cheap again.
        let stop = match tick {
            20 => 100 * MS,
            64..96 => 2 * MS,
            _ => MS / 10,
        };
        now = due.planned + Nanos(stop);
        changes.extend(clock.held(Nanos(stop), now));
    }
    assert_eq!(changes, [Nanos(44 * MS), Nanos(10 * MS)]);
}

#[test]
fn without_a_bound_the_interval_stays() {
    let mut clock = clock();
    for tick in 0..100 {
        let now = Timestamp(2_000 * MS + tick * 100 * MS);
        assert_eq!(clock.held(Nanos(5 * MS), now), None);
    }
}

#[test]
fn ticks_of_a_pause_are_neither_due_nor_skipped() {
    let mut clock = clock();
    let before = clock.next(Timestamp(0));
    // 1000 ticks later.
    let now = Timestamp(11_000 * MS);
    let index = clock.resume(now);
    assert!((990..=1010).contains(&index), "{index}");
    let due = clock.next(now);
    assert_eq!((due.index, due.skipped), (index, 0));
    assert!(due.planned >= now && due.planned < now + Nanos(20 * MS));
    assert_eq!(clock.next(Timestamp(0)).index, index + 1);
    // A pause between two ticks leaves out none.
    assert_eq!(clock.resume(now), index + 2);
    clock.give_back(before);
    assert_eq!(clock.next(Timestamp(0)), before);
}
