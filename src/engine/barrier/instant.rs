//! Choosing the instant that a tick stands for.

use crate::profile::Timestamp;

/// A CPU that got a thread of the target, or lost it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) time: Timestamp,
    /// Index of the CPU.
    pub(super) cpu: usize,
    /// Whether a thread of the target is there from then on.
    pub(super) is_on: bool,
}

/// The latest instant from `begin` to `end` at which the fewest threads of the target are on a CPU:
/// for all others the stack is proven. A thread can come to a CPU that nobody holds while another
/// is still leaving its own, so not each instant is as good as the end.
///
/// `on`: the CPUs with a thread of the target at `begin`. `switches`: what follows, in any order.
pub(super) fn choose(
    begin: Timestamp,
    end: Timestamp,
    on: &mut [bool],
    switches: &mut [Switch],
) -> Timestamp {
    switches.sort_by_key(|switch| switch.time);
    let count = |on: &[bool]| on.iter().filter(|&&is_on| is_on).count();
    let mut best = (count(on), begin);
    let mut position = 0;
    while let Some(&Switch { time, .. }) = switches.get(position) {
        // The instant before it is as good as the one it was counted at, and later.
        if count(on) <= best.0 {
            best = (count(on), Timestamp(time.0.saturating_sub(1)).max(begin));
        }
        while let Some(switch) = switches.get(position).filter(|s| s.time == time) {
            if let Some(is_on) = on.get_mut(switch.cpu) {
                *is_on = switch.is_on;
            }
            position += 1;
        }
    }
    if count(on) <= best.0 { end } else { best.1 }
}

#[cfg(test)]
mod tests {
    use super::{Switch, choose};
    use crate::profile::Timestamp;

    /// The choice between 100 and 200, with CPU 0 and 1 in use at 100; a switch: time, CPU, on.
    fn chosen(switches: &[(u64, usize, bool)]) -> u64 {
        let mut switches: Vec<Switch> = switches
            .iter()
            .map(|&(time, cpu, is_on)| Switch {
                time: Timestamp(time),
                cpu,
                is_on,
            })
            .collect();
        choose(
            Timestamp(100),
            Timestamp(200),
            &mut [true, true, false],
            &mut switches,
        )
        .0
    }

    #[test]
    fn the_end_is_chosen_where_nobody_is_on_a_cpu() {
        assert_eq!(chosen(&[(110, 0, false), (120, 1, false)]), 200);
        // One comes and goes.
        assert_eq!(
            chosen(&[
                (110, 0, false),
                (120, 1, false),
                (130, 2, true),
                (140, 2, false)
            ]),
            200
        );
    }

    #[test]
    fn one_that_comes_late_is_met_before_it_comes() {
        assert_eq!(
            chosen(&[(130, 2, true), (110, 0, false), (120, 1, false)]),
            129
        );
    }

    #[test]
    fn as_few_as_possible_are_lost() {
        // CPU 1 is never free.
        assert_eq!(chosen(&[(110, 0, false)]), 200);
        assert_eq!(chosen(&[(110, 0, false), (150, 2, true)]), 149);
        assert_eq!(chosen(&[]), 200);
    }
}
