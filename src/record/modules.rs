//! The object files of all recorded processes, each opened once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::memory::Memory;
use crate::module::{MappedFileId, ObjectFile, open_mapped};
use crate::process::{LiveMemory, MapEntry, map_file_paths};
use crate::profile::{Module, ModuleId, ModuleKind, Pid, SymbolReason};

/// A module as the recording knows it, and its file.
#[derive(Clone, Debug)]
pub(super) struct OpenModule {
    pub(super) id: ModuleId,
    pub(super) file: Result<Arc<ObjectFile>, SymbolReason>,
}

/// All modules seen, by what the kernel says they are. A file that could be opened is held, so
/// its inode cannot become another file's.
#[derive(Debug, Default)]
pub(super) struct Modules {
    files: HashMap<(u64, u64), OpenModule>,
    /// By content: each kernel has one or two.
    vdsos: Vec<(Vec<u8>, OpenModule)>,
    count: u32,
}

/// The vDSO is a few pages; what claims to be larger is none.
const MAX_VDSO: u64 = 1 << 20;

impl Modules {
    /// The module behind a mapping, and its description when it is seen for the first time.
    /// `None`: no module, but memory.
    pub(super) fn of(
        &mut self,
        pid: Pid,
        entry: &MapEntry,
    ) -> Option<(OpenModule, Option<Module>)> {
        if entry.path == "[vdso]" {
            return self.vdso(pid, entry);
        }
        if entry.inode == 0 {
            return None;
        }
        let key = (entry.device, entry.inode);
        if let Some(known) = self.files.get(&key) {
            return Some((known.clone(), None));
        }
        let mapped = MappedFileId::new(entry.device, entry.inode);
        let file = open_mapped(&map_file_paths(pid, entry), mapped);
        let file = file.map(|file| Arc::new(file.known_by(Path::new(&entry.path))));
        let open = OpenModule {
            id: self.next_id(),
            file,
        };
        let module = describe(&open, ModuleKind::File, entry);
        self.files.insert(key, open.clone());
        Some((open, Some(module)))
    }

    fn vdso(&mut self, pid: Pid, entry: &MapEntry) -> Option<(OpenModule, Option<Module>)> {
        let length = entry
            .end
            .0
            .checked_sub(entry.start.0)
            .filter(|&len| len <= MAX_VDSO)?;
        let mut bytes = vec![0; length as usize];
        let got = LiveMemory(pid).read(entry.start, &mut bytes);
        if got < bytes.len() {
            return None;
        }
        if let Some((_, known)) = self.vdsos.iter().find(|(content, _)| *content == bytes) {
            return Some((known.clone(), None));
        }
        let file = ObjectFile::from_bytes("[vdso]", bytes.clone())
            .map(Arc::new)
            .map_err(|error| error.reason());
        let open = OpenModule {
            id: self.next_id(),
            file,
        };
        let module = describe(&open, ModuleKind::Vdso, entry);
        self.vdsos.push((bytes, open.clone()));
        Some((open, Some(module)))
    }

    fn next_id(&mut self) -> ModuleId {
        let id = ModuleId(self.count);
        self.count += 1;
        id
    }

    /// All modules, in no order.
    pub(super) fn into_all(self) -> impl Iterator<Item = OpenModule> {
        self.files
            .into_values()
            .chain(self.vdsos.into_iter().map(|(_, open)| open))
    }
}

fn describe(open: &OpenModule, kind: ModuleKind, entry: &MapEntry) -> Module {
    let file = open.file.as_ref().ok();
    let identity = file.map(|file| file.identity()).unwrap_or_default();
    Module {
        id: open.id,
        kind,
        path: entry.path.clone(),
        deleted: entry.is_deleted,
        build_id: file.and_then(|file| file.build_id().cloned()),
        device: entry.device,
        inode: entry.inode,
        size: identity.size,
        modified_ns: identity.modified_ns,
    }
}
