//! Dense ids of this recording, and the kernel's own numbers, which are reused and so never
//! serve as keys.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index of the table it belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id!(
    /// One life of a process, from fork to exit. An exec does not begin a new one.
    ProcessId
);
dense_id!(
    /// One life of a thread.
    ThreadId
);
dense_id!(
    /// One object file as it was mapped; the same file mapped by two processes is one module.
    ModuleId
);
dense_id!(
    /// A series of numbers over time.
    CounterId
);
dense_id!(
    /// A stack in the [`StackTable`](super::StackTable) that a tick comes with.
    StackId
);

/// The kernel's process number (thread group id) as seen by sprof. Reused by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub i32);

/// The kernel's thread number as seen by sprof. Reused by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

/// The kernel's number of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuNumber(pub u16);

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Display for Tid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
