//! What the writer and the reader of ticks have in common.

use super::wire::{Cursor, Invalid, Wire, cases, put_varint, unzigzag, zigzag};
use crate::profile::{Address, Frame, Marker, ModuleId, ModuleOffset, RunState, StackEnd, StackId};

/// Most samples of a tick.
pub(super) const SAMPLES_MAX: usize = 1 << 18;

/// Most stacks of a group.
pub(super) const STACKS_MAX: usize = 1 << 22;

/// Columns of a chunk of ticks, in their order.
pub(super) const COLUMNS: usize = 14;

/// How many of them version 1 had: the first.
pub(super) const COLUMNS_V1: usize = 10;

/// A value for each column.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns<T> {
    /// A new stack each: distance to its caller, or 0.
    pub(super) callers: T,
    /// A new stack each: its frame's number + 1, or 0 for the next new frame.
    pub(super) leaves: T,
    /// A new frame each.
    pub(super) frames: T,
    /// A tick each: its own numbers.
    pub(super) instants: T,
    /// A tick each: threads that came and went.
    pub(super) threads: T,
    /// A tick each: how many samples in turn are as before, and not.
    pub(super) runs: T,
    /// A sample each that is not as before: what is new in it.
    pub(super) heads: T,
    /// CPU times.
    pub(super) cpus: T,
    /// Stacks.
    pub(super) stacks: T,
    /// Why stacks end.
    pub(super) ends: T,
    /// A tick each: which processes were held, and for how long.
    pub(super) pauses: T,
    /// System calls.
    pub(super) syscalls: T,
    /// Since when threads sleep.
    pub(super) sinces: T,
    /// CPUs.
    pub(super) places: T,
}

impl<T> Columns<T> {
    pub(super) fn in_order(&mut self) -> [&mut T; COLUMNS] {
        [
            &mut self.callers,
            &mut self.leaves,
            &mut self.frames,
            &mut self.instants,
            &mut self.threads,
            &mut self.runs,
            &mut self.heads,
            &mut self.cpus,
            &mut self.stacks,
            &mut self.ends,
            &mut self.pauses,
            &mut self.syscalls,
            &mut self.sinces,
            &mut self.places,
        ]
    }
}

/// The numbers of a tick that the next one is told against.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Instant {
    pub(super) index: u64,
    pub(super) planned: u64,
    pub(super) time: u64,
}

/// Stands before the head of a sample of which one of these is not as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Details {
    pub(super) new_syscall: bool,
    pub(super) since: SinceForm,
    pub(super) new_place: bool,
}

/// How it is told since when a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SinceForm {
    /// As in the thread's last sample.
    Same,
    /// It is not known.
    Unknown,
    /// As the time before the tick.
    Ago,
}

impl Details {
    /// The lowest three bits of a byte that is not yet the head: no state has this number.
    const MARK: u8 = 6;

    /// What a sample without this byte has.
    pub(super) const SAME: Details = Details {
        new_syscall: false,
        since: SinceForm::Same,
        new_place: false,
    };

    pub(super) fn put(self, to: &mut Vec<u8>) {
        let since = match self.since {
            SinceForm::Same => 0,
            SinceForm::Unknown => 1,
            SinceForm::Ago => 2,
        };
        let (syscall, place) = (u8::from(self.new_syscall), u8::from(self.new_place));
        to.push(Details::MARK | syscall << 3 | since << 4 | place << 6);
    }

    /// The details before the next head, where there are some.
    pub(super) fn get(from: &mut Cursor<'_>) -> Result<Details, Invalid> {
        let mut ahead = *from;
        let byte = ahead.byte()?;
        if byte & 7 != Details::MARK {
            return Ok(Details::SAME);
        }
        *from = ahead;
        Ok(Details {
            new_syscall: byte >> 3 & 1 != 0,
            since: match byte >> 4 & 3 {
                0 => SinceForm::Same,
                1 => SinceForm::Unknown,
                2 => SinceForm::Ago,
                _ => return Err(Invalid("unknown form of a time asleep")),
            },
            new_place: byte >> 6 & 1 != 0,
        })
    }
}

/// First byte of a sample that is not as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) state: RunState,
    pub(super) carried: bool,
    pub(super) cpu: CpuForm,
    pub(super) new_stack: bool,
    pub(super) new_end: bool,
}

/// How the CPU time of a sample is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuForm {
    /// There is none.
    Unknown,
    /// As a number.
    Plain,
    /// As the time since the last tick, less a signed number.
    OfElapsed,
    /// As in the thread's last sample.
    Same,
}

impl Wire for Head {
    fn put(&self, to: &mut Vec<u8>) {
        let state = match self.state {
            RunState::Running => 0,
            RunState::Runnable => 1,
            RunState::Sleeping => 2,
            RunState::Disk => 3,
            RunState::Stopped => 4,
            RunState::Unknown => 5,
        };
        let cpu = match self.cpu {
            CpuForm::Unknown => 0,
            CpuForm::Plain => 1,
            CpuForm::OfElapsed => 2,
            CpuForm::Same => 3,
        };
        let flag = |is: bool, bit: u8| u8::from(is) << bit;
        to.push(
            state
                | flag(self.carried, 3)
                | cpu << 4
                | flag(self.new_stack, 6)
                | flag(self.new_end, 7),
        );
    }

    fn get(from: &mut Cursor<'_>) -> Result<Head, Invalid> {
        let byte = from.byte()?;
        let flag = |bit: u8| byte >> bit & 1 != 0;
        Ok(Head {
            state: match byte & 7 {
                0 => RunState::Running,
                1 => RunState::Runnable,
                2 => RunState::Sleeping,
                3 => RunState::Disk,
                4 => RunState::Stopped,
                5 => RunState::Unknown,
                _ => return Err(Invalid("unknown case of RunState")),
            },
            carried: flag(3),
            cpu: match byte >> 4 & 3 {
                0 => CpuForm::Unknown,
                1 => CpuForm::Plain,
                2 => CpuForm::OfElapsed,
                _ => CpuForm::Same,
            },
            new_stack: flag(6),
            new_end: flag(7),
        })
    }
}

cases!(StackEnd {
    0 Root, 1 NoUnwindInfo, 2 Unreadable, 3 NotCopied(bytes), 4 Implausible, 5 Unmapped, 6 TooDeep,
    7 NotStopped, 8 Gone, 9 NoRegisters, 10 ForeignArchitecture, 11 NotTraceable,
    12 RegistersUnknown, 13 RecordsLost
});

const NATIVE: u8 = 0;
const UNMAPPED: u8 = 1;
const SIGNAL_HANDLER: u8 = 2;
const OMITTED: u8 = 3;

/// The numbers of the frame before that the next one is told against.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastFrame {
    module: u32,
    offset: u64,
    address: u64,
}

impl LastFrame {
    pub(super) fn put(&mut self, frame: Frame, to: &mut Vec<u8>) {
        match frame {
            Frame::Native { module, offset } => {
                to.push(NATIVE);
                let distance = u64::from(module.0).wrapping_sub(u64::from(self.module));
                put_varint(to, zigzag(distance));
                put_varint(to, zigzag(offset.0.wrapping_sub(self.offset)));
                (self.module, self.offset) = (module.0, offset.0);
            }
            Frame::Unmapped { address } => {
                to.push(UNMAPPED);
                put_varint(to, zigzag(address.0.wrapping_sub(self.address)));
                self.address = address.0;
            }
            Frame::Marker(Marker::SignalHandler) => to.push(SIGNAL_HANDLER),
            Frame::Marker(Marker::Omitted(count)) => {
                to.push(OMITTED);
                put_varint(to, count);
            }
        }
    }

    pub(super) fn get(&mut self, from: &mut Cursor<'_>) -> Result<Frame, Invalid> {
        Ok(match from.byte()? {
            NATIVE => {
                let module = u64::from(self.module).wrapping_add(unzigzag(from.varint()?));
                self.module = u32::try_from(module)
                    .map_err(|_| Invalid("the module of a frame has more than 32 bits"))?;
                self.offset = self.offset.wrapping_add(unzigzag(from.varint()?));
                Frame::Native {
                    module: ModuleId(self.module),
                    offset: ModuleOffset(self.offset),
                }
            }
            UNMAPPED => {
                self.address = self.address.wrapping_add(unzigzag(from.varint()?));
                Frame::Unmapped {
                    address: Address(self.address),
                }
            }
            SIGNAL_HANDLER => Frame::Marker(Marker::SignalHandler),
            OMITTED => Frame::Marker(Marker::Omitted(from.varint()?)),
            _ => return Err(Invalid("unknown kind of frame")),
        })
    }
}

/// A stack as a number: 0 for none.
pub(super) fn stack_number(stack: Option<StackId>) -> u64 {
    or_none(stack.map(|id| id.0))
}

/// A number that may be missing: 0 for none.
pub(super) fn or_none(number: Option<u32>) -> u64 {
    number.map_or(0, |number| u64::from(number) + 1)
}
