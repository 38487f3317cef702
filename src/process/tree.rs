//! Who is whose child, and which threads a process has.

use std::collections::HashMap;

use super::read_stat;
use crate::profile::{Pid, Tid};

/// The live processes below `roots` (not the roots themselves), parents before their children.
/// sprof itself and what is below it are left out.
pub fn descendants(roots: &[Pid]) -> Vec<Pid> {
    let own = Pid(std::process::id() as i32);
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for pid in numbered_entries("/proc").map(Pid) {
        if let Some(stat) = read_stat(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found: Vec<Pid> = roots.to_vec();
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        next += 1;
        for child in children.remove(parent).unwrap_or_default() {
            if child != own && !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found.split_off(roots.len())
}

/// The threads of a process, in the kernel's order; empty when it is gone.
pub fn threads(pid: Pid) -> Vec<Tid> {
    numbered_entries(&format!("/proc/{pid}/task"))
        .map(Tid)
        .collect()
}

/// The parents of this process, nearest first.
pub fn ancestors() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut pid = Pid(std::process::id() as i32);
    while let Some(stat) = read_stat(pid) {
        pid = stat.parent;
        if pid.0 <= 0 || found.contains(&pid) {
            break;
        }
        found.push(pid);
    }
    found
}

fn numbered_entries(folder: &str) -> impl Iterator<Item = i32> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
