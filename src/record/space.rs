//! What is mapped in each recorded process, and since when.

use std::collections::HashMap;
use std::ops::Range;

use super::modules::Modules;
use super::tree::SpaceChange;
use crate::process::{MapEntry, parse_maps, read_maps};
use crate::profile::{
    Address, Event, Loss, LossKind, LossSubject, Mapping, Nanos, Pid, ProcessId, Timestamp,
};
use crate::unwind::AddressSpace;

/// The mappings of one process.
#[derive(Clone, Debug)]
pub(super) struct Space {
    process: ProcessId,
    pub(super) code: AddressSpace,
    /// The executable entries that `code` was made of.
    entries: Vec<MapEntry>,
    /// Memory that stacks can lie in: start and end.
    writable: Vec<(Address, Address)>,
    /// The main thread's stack, which grows down between two looks.
    main_stack: Option<(Address, Address)>,
    next_read: Timestamp,
    pause: Nanos,
}

/// The mappings of all live processes.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    spaces: HashMap<Pid, Space>,
    pub(super) modules: Modules,
}

/// After a look at the maps that brought nothing new, the next one comes this much later at least;
/// the pause doubles up to the longest.
const SHORTEST_PAUSE: Nanos = Nanos(10_000_000);
/// Mappings are looked at this often in any case, so that what was unmapped is noticed.
const LONGEST_PAUSE: Nanos = Nanos(1_000_000_000);

/// A stack pointer so far below the main thread's stack as it was last seen may still belong to it.
const MAX_GROWTH: u64 = 1 << 30;

impl Spaces {
    pub(super) fn get(&self, pid: Pid) -> Option<&Space> {
        self.spaces.get(&pid)
    }

    /// Follows a change of the tree; answers what to record of it.
    pub(super) fn change(&mut self, change: SpaceChange, time: Timestamp) -> Vec<Event> {
        match change {
            SpaceChange::Met(pid, id) => {
                self.spaces.insert(pid, Space::new(id, time));
                self.look(pid, time)
                    .unwrap_or_else(|| vec![no_mappings(id, time)])
            }
            SpaceChange::Forked { parent, child, id } => {
                let Some(space) = self.spaces.get(&parent) else {
                    return self.change(SpaceChange::Met(child, id), time);
                };
                let mut space = space.clone();
                space.process = id;
                space.code = space.code.forked(id);
                let inherited = space.code.mappings().map(|mapping| {
                    Event::Mapped(Mapping {
                        from: time,
                        until: None,
                        ..mapping.clone()
                    })
                });
                let events = inherited.collect();
                self.spaces.insert(child, space);
                events
            }
            SpaceChange::Exec(pid, id, maps) => {
                let mut space = Space::new(id, time);
                let entries = parse_maps(maps.as_deref().unwrap_or_default());
                let events = space.become_entries(pid, entries, time, &mut self.modules);
                self.spaces.insert(pid, space);
                if maps.is_some_and(|maps| maps.is_empty()) {
                    vec![no_mappings(id, time)]
                } else {
                    events
                }
            }
            SpaceChange::Mapped(pid, id, entry) => {
                let new = || Space::new(id, time);
                let space = self.spaces.entry(pid).or_insert_with(new);
                space.map(pid, entry, time, &mut self.modules)
            }
            SpaceChange::Gone(pid) => {
                self.spaces.remove(&pid);
                Vec::new()
            }
        }
    }

    /// Looks at a process's maps when it is time to, or sooner when something did not fit them.
    /// `None`: not yet.
    pub(super) fn look_again(
        &mut self,
        pid: Pid,
        time: Timestamp,
        is_unfit: bool,
    ) -> Option<Vec<Event>> {
        let space = self.spaces.get(&pid)?;
        let due = if is_unfit {
            space.next_read
        } else {
            space.next_read + LONGEST_PAUSE
        };
        if time < due {
            return None;
        }
        self.look(pid, time)
    }

    fn look(&mut self, pid: Pid, time: Timestamp) -> Option<Vec<Event>> {
        let space = self.spaces.get_mut(&pid)?;
        let entries = read_maps(pid).filter(|entries| !entries.is_empty());
        let events =
            entries.map(|entries| space.become_entries(pid, entries, time, &mut self.modules));
        let is_news = events.as_ref().is_some_and(|events| !events.is_empty());
        space.pause = if is_news {
            SHORTEST_PAUSE
        } else {
            Nanos((space.pause.0 * 2).min(LONGEST_PAUSE.0))
        };
        space.next_read = time + space.pause;
        events
    }
}

impl Space {
    fn new(process: ProcessId, time: Timestamp) -> Space {
        Space {
            process,
            code: AddressSpace::new(),
            entries: Vec::new(),
            writable: Vec::new(),
            main_stack: None,
            next_read: time,
            pause: SHORTEST_PAUSE,
        }
    }

    /// The live part of a stack of which this slot is the lowest one wanted now. A caller's frames
    /// may begin a little lower next time, so a page more is taken where there is one.
    pub(super) fn live_part(&self, slot: Address) -> Option<Range<Address>> {
        const PAGE: u64 = 4096;
        let end = self.stack_end(slot)?;
        let page = slot.0 & !(PAGE - 1);
        let lower = Address(page.saturating_sub(PAGE));
        let has_lower = self.stack_end(lower) == Some(end);
        Some(if has_lower { lower } else { Address(page) }..end)
    }

    /// Where the memory that holds this stack pointer ends.
    pub(super) fn stack_end(&self, sp: Address) -> Option<Address> {
        let behind = self.writable.partition_point(|&(start, _)| start <= sp);
        if self.writable.get(behind).copied() == self.main_stack
            && let Some((start, end)) = self.main_stack
            && start.0 - sp.0 <= MAX_GROWTH
        {
            return Some(end);
        }
        let &(_, end) = self.writable.get(behind.checked_sub(1)?)?;
        (sp < end).then_some(end)
    }

    /// Takes over the entries of a maps file; answers what has changed.
    fn become_entries(
        &mut self,
        pid: Pid,
        entries: Vec<MapEntry>,
        time: Timestamp,
        modules: &mut Modules,
    ) -> Vec<Event> {
        let main_stack = entries.iter().find(|entry| entry.path == "[stack]");
        self.main_stack = main_stack.map(|entry| (entry.start, entry.end));
        let writable = entries.iter().filter(|entry| entry.is_writable);
        self.writable = writable.map(|entry| (entry.start, entry.end)).collect();
        let code: Vec<MapEntry> = entries.into_iter().filter(|e| e.is_executable).collect();
        let mut events = Vec::new();
        let before = std::mem::take(&mut self.entries);
        for gone in before.iter().filter(|entry| !code.contains(entry)) {
            self.code.unmap_range(gone.start, gone.end);
            events.push(unmapped(self.process, gone, time));
        }
        for entry in code.iter().filter(|entry| !before.contains(entry)) {
            self.add(pid, entry, time, modules, &mut events);
        }
        self.entries = code;
        events
    }

    /// Takes in one more mapping; what it covers is gone.
    fn map(
        &mut self,
        pid: Pid,
        entry: MapEntry,
        time: Timestamp,
        modules: &mut Modules,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        if self.entries.contains(&entry) {
            return events;
        }
        let process = self.process;
        self.entries.retain(|old| {
            let is_covered = old.start < entry.end && entry.start < old.end;
            if is_covered {
                events.push(unmapped(process, old, time));
            }
            !is_covered
        });
        self.code.unmap_range(entry.start, entry.end);
        self.add(pid, &entry, time, modules, &mut events);
        self.entries.push(entry);
        events
    }

    fn add(
        &mut self,
        pid: Pid,
        entry: &MapEntry,
        time: Timestamp,
        modules: &mut Modules,
        events: &mut Vec<Event>,
    ) {
        let Some((open, description)) = modules.of(pid, entry) else {
            // The page of old system calls, which the kernel emulates: no code runs there.
            if entry.path != "[vsyscall]" {
                self.code.map_generated(entry.start, entry.end);
            }
            return;
        };
        events.extend(description.map(Event::Module));
        let file = open.file.ok();
        let bias = file
            .as_ref()
            .and_then(|file| file.bias(entry.start, entry.file_offset));
        let mapping = Mapping {
            process: self.process,
            module: open.id,
            start: entry.start,
            end: entry.end,
            file_offset: entry.file_offset,
            // Without the file's headers, its offsets are the nearest there is to addresses.
            bias: bias.unwrap_or(entry.start.0.wrapping_sub(entry.file_offset)),
            from: time,
            until: None,
        };
        self.code.map(&mapping, file);
        events.push(Event::Mapped(mapping));
    }
}

fn unmapped(process: ProcessId, entry: &MapEntry, time: Timestamp) -> Event {
    Event::Unmapped {
        process,
        start: entry.start,
        time,
    }
}

fn no_mappings(process: ProcessId, time: Timestamp) -> Event {
    Event::Loss(Loss {
        time,
        tick: None,
        kind: LossKind::NoMappings,
        subject: LossSubject::Process(process),
        count: 1,
        detail: "the maps file could not be read".to_owned(),
    })
}
