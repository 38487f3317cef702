//! What the writer and the reader of ticks have in common.

use super::wire::{Cursor, Invalid, Wire, cases, put_varint, unzigzag, zigzag};
use crate::profile::{
    Address, Frame, Marker, ModuleId, ModuleOffset, RunState, Sample, StackEnd, StackId, ThreadId,
};

/// Most samples of a tick.
pub(super) const SAMPLES_MAX: usize = 1 << 18;

/// Most stacks of a group.
pub(super) const STACKS_MAX: usize = 1 << 22;

/// Columns of a chunk of ticks, in their order.
pub(super) const COLUMNS: usize = 10;

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

/// What the first sample of a thread in a group, or since it was away, is told against.
pub(super) fn unseen(thread: ThreadId) -> Sample {
    Sample {
        thread,
        state: RunState::Running,
        cpu: None,
        carried: false,
        stack: None,
        end: StackEnd::Root,
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
    stack.map_or(0, |id| u64::from(id.0) + 1)
}
