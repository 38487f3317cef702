use super::calls::{Call, is_blocked, is_cut_short, state_of, waits_forever};
use crate::memory::Registers;
use crate::profile::RunState;
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
        stopped_in(0, EINTR, &[]),
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
