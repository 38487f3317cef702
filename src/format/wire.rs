//! Values as bytes: numbers, texts, lists, and the records made of them.

use crate::profile::{
    Address, BuildId, Clocks, Counter, CounterId, CounterKind, CounterSubject, CounterUnit,
    CounterValue, CpuNumber, ExitStatus, Image, Loss, LossKind, LossSubject, Mapping, Module,
    ModuleId, ModuleKind, ModuleOffset, Nanos, Pid, Process, ProcessId, Session, SymbolFrame,
    SymbolReason, Symbolized, SyscallNumber, Thread, ThreadId, ThreadName, Tid, Timestamp,
};

/// Bytes that no writer of this version makes, and what is wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Invalid(pub(super) &'static str);

/// What is left to read of some bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Invalid> {
        let (first, rest) = self.0.split_first().ok_or(Invalid("a value is cut off"))?;
        self.0 = rest;
        Ok(*first)
    }

    /// A number in LEB128: seven bits a byte, lowest first, the high bit set on all but the last.
    pub(super) fn varint(&mut self) -> Result<u64, Invalid> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && byte > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Invalid("a number has more than 64 bits"))
    }

    /// As many bytes as the number before them says.
    pub(super) fn block(&mut self) -> Result<&'a [u8], Invalid> {
        let too_long = Invalid("a length goes beyond its chunk");
        let len = usize::try_from(self.varint()?).map_err(|_| too_long)?;
        let (block, rest) = self.0.split_at_checked(len).ok_or(too_long)?;
        self.0 = rest;
        Ok(block)
    }
}

pub(super) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

pub(super) fn put_block(to: &mut Vec<u8>, block: &[u8]) {
    put_varint(to, block.len() as u64);
    to.extend_from_slice(block);
}

/// A difference as a number that is small when the difference is small in either direction.
pub(super) fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    (signed << 1 ^ signed >> 63) as u64
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

/// A value that can be written and read back.
pub(super) trait Wire: Sized {
    fn put(&self, to: &mut Vec<u8>);
    fn get(from: &mut Cursor<'_>) -> Result<Self, Invalid>;
}

impl Wire for u64 {
    fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, *self);
    }
    fn get(from: &mut Cursor<'_>) -> Result<u64, Invalid> {
        from.varint()
    }
}

impl Wire for u32 {
    fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, u64::from(*self));
    }
    fn get(from: &mut Cursor<'_>) -> Result<u32, Invalid> {
        u32::try_from(from.varint()?).map_err(|_| Invalid("a number has more than 32 bits"))
    }
}

impl Wire for u16 {
    fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, u64::from(*self));
    }
    fn get(from: &mut Cursor<'_>) -> Result<u16, Invalid> {
        u16::try_from(from.varint()?).map_err(|_| Invalid("a number has more than 16 bits"))
    }
}

impl Wire for i32 {
    fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, zigzag(i64::from(*self) as u64));
    }
    fn get(from: &mut Cursor<'_>) -> Result<i32, Invalid> {
        i32::try_from(unzigzag(from.varint()?) as i64)
            .map_err(|_| Invalid("a number has more than 32 bits"))
    }
}

impl Wire for bool {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
    fn get(from: &mut Cursor<'_>) -> Result<bool, Invalid> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Invalid("a yes or no is neither")),
        }
    }
}

impl Wire for String {
    fn put(&self, to: &mut Vec<u8>) {
        put_block(to, self.as_bytes());
    }
    fn get(from: &mut Cursor<'_>) -> Result<String, Invalid> {
        let text =
            std::str::from_utf8(from.block()?).map_err(|_| Invalid("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl Wire for BuildId {
    fn put(&self, to: &mut Vec<u8>) {
        put_block(to, &self.0);
    }
    fn get(from: &mut Cursor<'_>) -> Result<BuildId, Invalid> {
        Ok(BuildId(from.block()?.to_vec()))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
    fn get(from: &mut Cursor<'_>) -> Result<Option<T>, Invalid> {
        bool::get(from)?.then(|| T::get(from)).transpose()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, self.len() as u64);
        for item in self {
            item.put(to);
        }
    }
    // Every item has a byte at least, so a false count ends at the end of the chunk.
    fn get(from: &mut Cursor<'_>) -> Result<Vec<T>, Invalid> {
        let count = from.varint()?;
        (0..count).map(|_| T::get(from)).collect()
    }
}

macro_rules! wrappers {
    ($($name:ident)*) => {$(
        impl Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                self.0.put(to);
            }
            fn get(from: &mut Cursor<'_>) -> Result<$name, Invalid> {
                Wire::get(from).map($name)
            }
        }
    )*};
}

wrappers!(Timestamp Nanos Address ModuleOffset ProcessId ThreadId ModuleId CounterId Pid Tid);
wrappers!(SyscallNumber CpuNumber);

/// A record is its fields one after another.
macro_rules! record {
    ($name:ident { $($field:ident),* }) => {
        impl Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)*
            }
            fn get(from: &mut Cursor<'_>) -> Result<$name, Invalid> {
                Ok($name { $($field: Wire::get(from)?),* })
            }
        }
    };
}

impl Wire for Session {
    fn put(&self, to: &mut Vec<u8>) {
        self.version.put(to);
        self.command.put(to);
        self.roots.put(to);
        self.interval.put(to);
        self.engine.put(to);
        self.scheduling.put(to);
        self.host.put(to);
        self.boot_id.put(to);
        self.kernel.put(to);
        self.arch.put(to);
        self.page_size.put(to);
        self.cpus.put(to);
        self.clocks.put(to);
        // Later than the others: a head may end before it.
        if !self.options.is_empty() {
            self.options.put(to);
        }
    }
    fn get(from: &mut Cursor<'_>) -> Result<Session, Invalid> {
        Ok(Session {
            version: Wire::get(from)?,
            command: Wire::get(from)?,
            roots: Wire::get(from)?,
            interval: Wire::get(from)?,
            engine: Wire::get(from)?,
            scheduling: Wire::get(from)?,
            host: Wire::get(from)?,
            boot_id: Wire::get(from)?,
            kernel: Wire::get(from)?,
            arch: Wire::get(from)?,
            page_size: Wire::get(from)?,
            cpus: Wire::get(from)?,
            clocks: Wire::get(from)?,
            options: if from.is_empty() {
                Vec::new()
            } else {
                Wire::get(from)?
            },
        })
    }
}
record!(Clocks {
    monotonic,
    boottime_ns,
    realtime_ns,
    error
});
record!(Process {
    id,
    pid,
    inner_pid,
    parent,
    parent_pid,
    start,
    end,
    exit_status,
    images
});
record!(Image { from, exe, argv });
record!(Thread {
    id,
    process,
    tid,
    start,
    end,
    names
});
record!(ThreadName { from, name });
record!(Module {
    id,
    kind,
    path,
    deleted,
    build_id,
    device,
    inode,
    size,
    modified_ns
});
record!(Mapping {
    process,
    module,
    start,
    end,
    file_offset,
    bias,
    from,
    until
});
record!(Loss {
    time,
    tick,
    kind,
    subject,
    count,
    detail
});
record!(Counter {
    id,
    name,
    subject,
    kind,
    unit,
    values
});
record!(CounterValue { time, value });
record!(SymbolFrame {
    function,
    file,
    line,
    inlined
});

/// One byte that says which case it is, then the value of the case where it has one.
macro_rules! cases {
    ($name:ident { $($code:literal $case:ident $(($value:ident))?),* }) => {
        impl Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $($name::$case $(($value))? => {
                        to.push($code);
                        $($value.put(to);)?
                    })*
                }
            }
            fn get(from: &mut Cursor<'_>) -> Result<$name, Invalid> {
                match from.byte()? {
                    $($code => Ok($name::$case $(({
                        let $value = Wire::get(from)?;
                        $value
                    }))?),)*
                    _ => Err(Invalid(concat!("unknown case of ", stringify!($name)))),
                }
            }
        }
    };
}
pub(super) use cases;

cases!(ExitStatus { 0 Code(status), 1 Signal(signal) });
cases!(ModuleKind { 0 File, 1 Vdso });
cases!(LossSubject { 0 Session, 1 Process(id), 2 Thread(id) });
cases!(LossKind {
    0 TickSkipped, 1 TickDropped, 2 NotTraceable, 3 NoMappings, 4 FileCut, 5 RecordsLost,
    6 IntervalChanged, 7 Paused, 8 EngineChanged
});
cases!(CounterSubject { 0 Session, 1 Process(id), 2 Thread(id), 3 Cpu(number) });
cases!(CounterKind { 0 Level, 1 Amount });
cases!(CounterUnit { 0 Count, 1 Nanos, 2 Bytes });
cases!(SymbolReason {
    0 NotDone, 1 FileMissing, 2 FileChanged, 3 FileInvalid, 4 NoSymbols, 5 NoSymbolHere, 6 NoModule
});
cases!(Symbolized { 0 Err(reason), 1 Ok(chain) });
