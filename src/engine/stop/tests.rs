use super::calls::{Call, is_blocked, is_cut_short, state_of, takes_no_harm, waits_forever};
use super::sleepers::Known;
use super::tracee::Phase;
use super::watch::Activity;
use crate::engine::records::{Kind, Record};
use crate::memory::Registers;
use crate::profile::{Address, Pid, RunState, Tid, Timestamp};
use crate::sys::RawRegisters;

const EINTR: i64 = -4;

fn stopped_in(syscall: i64, result: i64, arguments: &[(usize, u64)]) -> RawRegisters {
    let mut registers = Registers::default();
    for &(register, value) in arguments {
        registers.general[register] = value;
    }
    RawRegisters {
        registers,
        syscall,
        result,
        is_64_bit: true,
    }
}

/// DWARF numbers of the argument registers that hold timeouts.
const RDX: usize = 1;
const R8: usize = 8;
const R10: usize = 10;

#[test]
fn only_calls_without_an_end_of_their_own_are_taken_up() {
    let forever = [
        stopped_in(232, EINTR, &[(R10, 0xffff_ffff)]),
        stopped_in(232, EINTR, &[(R10, u64::MAX)]),
        stopped_in(281, EINTR, &[(R10, u64::MAX)]),
        stopped_in(441, EINTR, &[]),
        stopped_in(65, EINTR, &[]),
        stopped_in(220, EINTR, &[]),
        stopped_in(128, EINTR, &[]),
        stopped_in(208, EINTR, &[]),
    ];
    assert!(forever.iter().all(waits_forever));
    let timed = [
        stopped_in(232, EINTR, &[(R10, 100)]),
        stopped_in(232, EINTR, &[(R10, 0)]),
        stopped_in(441, EINTR, &[(R10, 0x7fff_0000)]),
        stopped_in(220, EINTR, &[(R10, 0x7fff_0000)]),
        stopped_in(128, EINTR, &[(RDX, 0x7fff_0000)]),
        stopped_in(208, EINTR, &[(R8, 0x7fff_0000)]),
        stopped_in(45, EINTR, &[]),
    ];
    assert!(
        timed
            .iter()
            .all(|raw| is_cut_short(raw) && !waits_forever(raw))
    );
    // Not in a call at all, or one that returned by itself.
    let others = [
        stopped_in(-1, EINTR, &[(R10, u64::MAX)]),
        stopped_in(232, 1, &[(R10, u64::MAX)]),
        stopped_in(39, EINTR, &[]),
    ];
    assert!(
        !others
            .iter()
            .any(|raw| is_cut_short(raw) || waits_forever(raw))
    );
}

#[test]
fn a_thread_is_asleep_when_its_call_is_to_be_taken_up_again() {
    for result in [-512, -513, -514, -516] {
        let raw = stopped_in(7, result, &[]);
        assert!(is_blocked(&raw));
        assert_eq!(state_of(&raw), RunState::Sleeping);
        // The same number in a register of user code says nothing.
        assert_eq!(state_of(&stopped_in(-1, result, &[])), RunState::Running);
    }
    assert_eq!(state_of(&stopped_in(1, 4096, &[])), RunState::Running);
}

#[test]
fn a_call_that_was_taken_up_again_keeps_its_name() {
    const RESTART_BLOCK: i64 = -516;
    const SP: usize = Registers::SP;
    let name = |raw: &RawRegisters, before| Call::of(raw, before).map(|call: Call| call.number);
    let sleep = stopped_in(230, RESTART_BLOCK, &[(SP, 500)]);
    let slept = Call::of(&sleep, None);
    assert_eq!(name(&sleep, None), Some(230));
    let again = stopped_in(219, RESTART_BLOCK, &[(SP, 500)]);
    assert_eq!(name(&again, slept), Some(230));
    assert_eq!(name(&again, Call::of(&again, slept)), Some(230));
    // Nobody has seen the call that this one goes on with: another stack, or none before.
    let elsewhere = stopped_in(219, RESTART_BLOCK, &[(SP, 400)]);
    assert_eq!(name(&elsewhere, slept), Some(219));
    assert_eq!(name(&again, None), Some(219));
    // Not blocked, or numbers of another architecture.
    assert_eq!(name(&stopped_in(-1, 0, &[]), slept), None);
    assert_eq!(name(&stopped_in(230, 0, &[]), slept), None);
    let foreign = RawRegisters {
        is_64_bit: false,
        ..sleep
    };
    assert_eq!(name(&foreign, None), None);
}

fn record(time: u64, kind: Kind) -> Record {
    Record {
        pid: Pid(1),
        tid: Tid(2),
        time: Timestamp(time),
        cpu: 0,
        kind,
        size: 32,
    }
}

#[test]
fn a_thread_is_watched_once_a_record_proves_it() {
    let mut activity = Activity::unproven(Timestamp(10));
    activity.take(&record(9, Kind::SwitchOut { is_ready: false }));
    assert!(!activity.is_watched);
    activity.take(&record(10, Kind::SwitchIn));
    assert!(activity.is_watched && activity.may_run);
    // Made to leave its CPU it goes on as soon as it may; blocked it does not.
    activity.take(&record(11, Kind::SwitchOut { is_ready: true }));
    assert!(activity.may_run);
    activity.take(&record(12, Kind::SwitchOut { is_ready: false }));
    assert!(!activity.may_run);
    let before = activity;
    activity.take(&record(13, Kind::Exit));
    assert_eq!(activity, before);
}

#[test]
fn a_sample_holds_until_the_thread_runs() {
    let mut activity = Activity {
        is_watched: true,
        is_sampled: true,
        ..Activity::default()
    };
    assert!(!activity.has_run_by(Timestamp(u64::MAX)));
    activity.take(&record(20, Kind::SwitchIn));
    activity.take(&record(21, Kind::SwitchOut { is_ready: false }));
    activity.take(&record(30, Kind::SwitchIn));
    assert!(!activity.is_sampled);
    // The first time counts, not the last.
    assert!(!activity.has_run_by(Timestamp(19)) && activity.has_run_by(Timestamp(20)));
}

#[test]
fn where_records_were_lost_a_thread_may_have_run_at_any_time() {
    let mut activity = Activity {
        is_watched: true,
        is_sampled: true,
        may_run: true,
        ..Activity::default()
    };
    activity.lose_sight();
    assert!(!activity.is_sampled && !activity.may_run && activity.has_run_by(Timestamp(0)));
}

#[test]
fn registers_hold_while_place_and_stack_are_the_same() {
    let mut registers = Registers {
        ip: Address(5),
        ..Registers::default()
    };
    registers.general[Registers::SP] = 0x8000;
    registers.general[Registers::BP] = 77;
    let mut stack = [1; 256];
    let known = Known::new(registers, &stack);
    let mut shown = Registers {
        unknown: u16::MAX,
        ..registers
    };
    assert_eq!(known.still(&shown, &stack), Some(registers));
    // The red zone does not count, everything above it does.
    stack[127] = 2;
    assert_eq!(known.still(&shown, &stack), Some(registers));
    stack[128] = 2;
    assert_eq!(known.still(&shown, &stack), None);
    stack[128] = 1;
    shown.ip = Address(6);
    assert_eq!(known.still(&shown, &stack), None);
}

#[test]
fn calls_that_can_fail_by_a_stop_are_not_stopped_for_registers() {
    let harmed = [232, 281, 441, 45, 44, 65, 220, 128, 208, 333, 426, 0, 1];
    assert!(!harmed.map(Some).into_iter().any(takes_no_harm));
    assert!(!takes_no_harm(None));
    assert!([202, 230, 7, 35].map(Some).into_iter().all(takes_no_harm));
}

#[test]
fn another_stack_is_copied_where_the_thread_does_not_stand_on_it() {
    use super::tracee::Tracee;
    use crate::profile::Address;
    let mut tracee = Tracee::new(crate::profile::Pid(1), crate::profile::Tid(1), Phase::Free);
    let bytes = |tracee: &Tracee, start, len| {
        let answer = tracee.outer_bytes(Address(start), len);
        answer.map(|(address, len)| (address.0, len))
    };
    assert_eq!(bytes(&tracee, 0x5000, 0x1000), None);
    tracee.outer = Some(Address(0x8000)..Address(0xa000));
    // Elsewhere, below and above it.
    assert_eq!(bytes(&tracee, 0x5000, 0x1000), Some((0x8000, 0x2000)));
    assert_eq!(bytes(&tracee, 0xb000, 0x1000), Some((0x8000, 0x2000)));
    // What is copied anyway reaches over its beginning.
    assert_eq!(bytes(&tracee, 0x7000, 0x3000), None);
    assert_eq!(bytes(&tracee, 0x8000, 0x2000), None);
    // Above it in the same mapping.
    assert_eq!(bytes(&tracee, 0x9000, 0x1000), Some((0x8000, 0x1000)));
    tracee.outer = Some(Address(0)..Address(u64::MAX));
    assert_eq!(bytes(&tracee, u64::MAX, 1), Some((0, 16 << 20)));
}
