//! Names for all addresses of a recording, looked up by module on all CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::samples::ModuleAddresses;
use crate::module::{DebugSearch, open_recorded};
use crate::profile::{
    Frame, ModuleId, ModuleOffset, Profile, Recording, RecordingError, StackTable, Symbolized, Tick,
};
use crate::symbolize::symbolize;
use crate::sys;

/// Names found for one module, by lookup offset.
pub(super) type Found = (ModuleId, Vec<(ModuleOffset, Symbolized)>);

/// Looks up names on all CPUs; `take` gets them module by module. `go_on` is asked some times a
/// second, with addresses done and in all, whether to go on; answers whether it was done to the
/// end. Threads that are in the middle of a module then are left behind.
pub(super) fn find_names(
    mut modules: Vec<ModuleAddresses>,
    mut take: impl FnMut(Found),
    mut go_on: impl FnMut(u64, u64) -> bool,
) -> bool {
    let total = modules
        .iter()
        .map(|module| module.offsets.len() as u64)
        .sum();
    // The largest last: work is taken from the end.
    modules.sort_by_key(|module| module.offsets.len());
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(modules.len());
    let queue = Arc::new(Mutex::new(modules));
    let done = Arc::new(AtomicU64::new(0));
    let (send, found) = channel();
    let start = || {
        let (queue, done, send) = (Arc::clone(&queue), Arc::clone(&done), send.clone());
        sys::start_thread(move || work(&queue, &done, &send)).is_ok()
    };
    if (0..workers).take_while(|_| start()).count() == 0 {
        work(&queue, &done, &send);
    }
    drop(send);
    receive(&found, &mut take, || {
        go_on(done.load(Ordering::Relaxed), total)
    })
}

fn receive(
    found: &Receiver<Found>,
    take: &mut impl FnMut(Found),
    mut go_on: impl FnMut() -> bool,
) -> bool {
    loop {
        match found.recv_timeout(Duration::from_millis(50)) {
            Ok(names) => take(names),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return true,
        }
        if !go_on() {
            return false;
        }
    }
}

fn work(queue: &Mutex<Vec<ModuleAddresses>>, done: &AtomicU64, send: &Sender<Found>) {
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop());
    while let Some(ModuleAddresses {
        module,
        file,
        offsets,
    }) = next()
    {
        let mut progress = |count: usize| {
            done.fetch_add(count as u64, Ordering::Relaxed);
        };
        let found = match file {
            Ok(file) => symbolize(&file, &DebugSearch::default(), &offsets, &mut progress),
            Err(reason) => {
                progress(offsets.len());
                vec![Err(reason); offsets.len()]
            }
        };
        if send
            .send((module, offsets.into_iter().zip(found).collect()))
            .is_err()
        {
            return;
        }
    }
}

/// A recording whose names were looked up after it was read.
struct Named<'a> {
    ticks: &'a dyn Recording,
    profile: Profile,
}

impl Recording for Named<'_> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        self.ticks.each_tick(visit)
    }
}

/// A recording without names (made with `--no-symbolize`, or cut), with names: its modules are
/// opened where they lay, and accepted only when they are the files that ran. `progress` gets
/// addresses done and in all.
///
/// # Errors
/// The recording's own.
pub fn symbolize_recording<'a>(
    recording: &'a dyn Recording,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Box<dyn Recording + 'a>, RecordingError> {
    let mut profile = recording.profile().clone();
    let mut wanted: BTreeMap<ModuleId, BTreeSet<ModuleOffset>> = BTreeMap::new();
    recording.each_tick(&mut |tick, stacks| {
        for frame in tick
            .samples
            .iter()
            .flat_map(|sample| stacks.frames(sample.stack))
        {
            if let Frame::Native { module, offset } = frame {
                wanted.entry(module).or_default().insert(offset);
            }
        }
        Ok(())
    })?;
    let modules = wanted.into_iter().filter_map(|(id, offsets)| {
        let module = profile.module(id)?;
        let file = open_recorded(&[PathBuf::from(&module.path)], module).map(Arc::new);
        Some(ModuleAddresses {
            module: id,
            file,
            offsets: offsets.into_iter().collect(),
        })
    });
    let modules = modules.collect();
    let take = |(module, names): Found| {
        for (offset, found) in names {
            profile.symbols.insert(module, offset, found);
        }
    };
    find_names(modules, take, |done, total| {
        progress(done, total);
        true
    });
    Ok(Box::new(Named {
        ticks: recording,
        profile,
    }))
}
