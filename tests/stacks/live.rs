//! A program stopped under ptrace: what an engine would copy of it.

use std::collections::HashMap;
use std::fs;
use std::io::{IoSliceMut, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use sprof::memory::{MemoryCopy, Registers};
use sprof::module::{MappedFileId, ObjectFile, open_mapped};
use sprof::profile::{Address, Frame, Mapping, ModuleId, ProcessId, Timestamp};
use sprof::unwind::{AddressSpace, Unwinder, Unwound};

/// A traced child, stopped.
pub(crate) struct Live {
    child: Child,
    pid: Pid,
    /// Its code.
    pub(crate) space: AddressSpace,
    /// Its modules by id.
    pub(crate) files: Vec<Arc<ObjectFile>>,
}

impl Live {
    /// Starts a program that writes a byte when it is ready and waits for one on stdin; stops it
    /// there, and gives it the byte.
    pub(crate) fn start(program: &Path) -> Live {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("spawn");
        let mut ready = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .expect("ready");
        let pid = newest_thread(child.id());
        ptrace::seize(pid, ptrace::Options::empty()).expect("seize");
        ptrace::interrupt(pid).expect("interrupt");
        assert!(matches!(
            waitpid(pid, Some(WaitPidFlag::__WALL)),
            Ok(WaitStatus::PtraceEvent(..))
        ));
        child.stdin.as_mut().unwrap().write_all(b"g").expect("go");
        let mut live = Live {
            child,
            pid,
            space: AddressSpace::new(),
            files: Vec::new(),
        };
        live.read_maps();
        live
    }

    /// Reads which code lies where.
    pub(crate) fn read_maps(&mut self) {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).expect("maps");
        let mut known: HashMap<String, ModuleId> = HashMap::new();
        self.space = AddressSpace::new();
        self.files.clear();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let &[range, permissions, offset, device, inode, path] = fields.as_slice() else {
                continue;
            };
            if !permissions.contains('x') || path == "[vsyscall]" {
                continue;
            }
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let (start, end, file_offset) = (hex(start), hex(end), hex(offset));
            let (major, minor) = device.split_once(':').unwrap();
            let mapped = MappedFileId {
                major: hex(major),
                minor: hex(minor),
                inode: inode.parse().unwrap(),
            };
            let module = *known.entry(path.to_owned()).or_insert_with(|| {
                let file = if path == "[vdso]" {
                    ObjectFile::from_bytes(path, self.read(start, (end - start) as usize)).unwrap()
                } else {
                    open_mapped(&[PathBuf::from(path)], mapped).unwrap()
                };
                self.files.push(Arc::new(file));
                ModuleId(self.files.len() as u32 - 1)
            });
            let file = self.files[module.index()].clone();
            let mapping = Mapping {
                process: ProcessId(0),
                module,
                start: Address(start),
                end: Address(end),
                file_offset,
                bias: file.bias(Address(start), file_offset).expect("bias"),
                from: Timestamp::default(),
                until: None,
            };
            self.space.map(&mapping, Some(file));
        }
    }

    /// Its registers.
    pub(crate) fn registers(&self) -> Registers {
        let raw = ptrace::getregs(self.pid).expect("getregs");
        Registers {
            unknown: 0,
            general: [
                raw.rax, raw.rdx, raw.rcx, raw.rbx, raw.rsi, raw.rdi, raw.rbp, raw.rsp, raw.r8,
                raw.r9, raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15,
            ],
            ip: Address(raw.rip),
            fs_base: raw.fs_base,
        }
    }

    /// Up to `size` bytes of its memory.
    pub(crate) fn read(&self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let remote = RemoteIoVec {
            base: address as usize,
            len: size,
        };
        let count = process_vm_readv(self.pid, &mut [IoSliceMut::new(&mut bytes)], &[remote]);
        bytes.truncate(count.unwrap_or(0));
        bytes
    }

    /// Its frames now.
    pub(crate) fn unwind(&self, unwinder: &mut Unwinder) -> (Vec<Frame>, Unwound) {
        let registers = self.registers();
        let start = registers.sp();
        let bytes = self.read(start.0, 64 << 10);
        let copy = MemoryCopy {
            start,
            bytes: &bytes,
        };
        let mut frames = Vec::new();
        let end = unwinder.unwind(&self.space, &registers, &[copy], &mut frames);
        (frames, end)
    }

    /// Its frames now, from as many stacks as are asked for.
    pub(crate) fn unwind_all(&self, unwinder: &mut Unwinder) -> (Vec<Frame>, Unwound) {
        let registers = self.registers();
        let mut parts = vec![(registers.sp(), self.read(registers.sp().0, 1 << 12))];
        loop {
            let copies: Vec<MemoryCopy<'_>> = parts
                .iter()
                .map(|(start, bytes)| MemoryCopy {
                    start: *start,
                    bytes,
                })
                .collect();
            let mut frames = Vec::new();
            let end = unwinder.unwind(&self.space, &registers, &copies, &mut frames);
            match end.wanted {
                Some(wanted) if parts.len() < 200 => {
                    parts.push((wanted, self.read(wanted.0, 1 << 12)));
                }
                _ => return (frames, end),
            }
        }
    }

    /// Executes one instruction; `false` when the program has ended.
    pub(crate) fn step(&mut self) -> bool {
        ptrace::step(self.pid, None).expect("step");
        match waitpid(self.pid, Some(WaitPidFlag::__WALL)).expect("wait") {
            WaitStatus::Stopped(..) | WaitStatus::PtraceEvent(..) => true,
            WaitStatus::Exited(..) => false,
            other => panic!("{other:?}"),
        }
    }
}

/// The thread of a process that was started last.
fn newest_thread(process: u32) -> Pid {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("task");
    let ids = threads.map(|it| it.expect("thread").file_name());
    let ids = ids.filter_map(|it| it.to_str()?.parse().ok());
    Pid::from_raw(ids.max().expect("a thread"))
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        // A traced thread must be waited for before its process can be.
        let _ = waitpid(self.pid, Some(WaitPidFlag::__WALL));
        let _ = self.child.wait();
    }
}
