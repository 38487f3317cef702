use std::sync::Arc;

use super::task::{Place, Stack, Tasks};
use crate::engine::TreeEvent;
use crate::engine::records::{Kind, Record, StackPlace};
use crate::profile::{Nanos, Pid, Tid, Timestamp};

/// Process 10, whose first thread runs on CPU 0 since time 100.
fn tasks() -> Tasks {
    let mut tasks = Tasks::new(&[0, 1], None, Arc::default());
    tasks.add(Pid(10), Tid(10), Place::Unknown, Timestamp(0));
    tell(&mut tasks, 10, 100, 0, Kind::SwitchIn);
    tasks
}

/// Takes in what happened to a thread of process 10, and answers what was reported.
fn tell(tasks: &mut Tasks, tid: i32, time: u64, cpu: u32, kind: Kind) -> Vec<TreeEvent> {
    let record = Record {
        pid: Pid(10),
        tid: Tid(tid),
        time: Timestamp(time),
        cpu,
        kind,
        size: 8,
    };
    let mut events = Vec::new();
    tasks.take(record, &mut |event| events.push(event));
    events
}

const SLEEP: Kind = Kind::SwitchOut { is_ready: false };
const PREEMPTION: Kind = Kind::SwitchOut { is_ready: true };

fn born(tasks: &mut Tasks, tid: i32, time: u64) -> Vec<TreeEvent> {
    let (parent, creator) = (Pid(10), Tid(10));
    tell(tasks, tid, time, 0, Kind::Born { parent, creator })
}

#[test]
fn time_on_a_cpu_adds_up() {
    let mut tasks = tasks();
    assert!(tasks.cpus[0].on == Some(Tid(10)) && tasks.may_run());
    tell(&mut tasks, 10, 130, 0, SLEEP);
    assert_eq!(tasks.by_tid[&Tid(10)].place, Place::Asleep);
    tell(&mut tasks, 10, 200, 1, Kind::SwitchIn);
    tell(&mut tasks, 10, 205, 1, PREEMPTION);
    let task = &tasks.by_tid[&Tid(10)];
    assert_eq!((task.place, task.cpu_time), (Place::Ready, Nanos(35)));
    assert_eq!(task.since, Timestamp(205));
    assert!(tasks.cpus.iter().all(|cpu| cpu.on.is_none()));
}

#[test]
fn what_is_told_twice_counts_once() {
    let mut tasks = tasks();
    tell(&mut tasks, 10, 101, 0, Kind::SwitchIn);
    for time in [130, 131] {
        tell(&mut tasks, 10, time, 0, Kind::Stack(StackPlace::default()));
    }
    tell(&mut tasks, 10, 132, 0, SLEEP);
    tell(&mut tasks, 10, 133, 0, SLEEP);
    let task = &tasks.by_tid[&Tid(10)];
    assert_eq!((task.cpu_time, task.since), (Nanos(32), Timestamp(132)));
    assert!(matches!(task.stack, Stack::InRing(_)));
    assert_eq!(born(&mut tasks, 11, 140).len(), 1);
    assert_eq!(born(&mut tasks, 11, 141).len(), 0);
}

#[test]
fn a_thread_that_comes_before_it_has_left_is_there() {
    // The clock of CPU 1 is behind that of CPU 0.
    let mut tasks = tasks();
    tell(&mut tasks, 10, 150, 1, Kind::SwitchIn);
    tell(&mut tasks, 10, 151, 0, PREEMPTION);
    assert_eq!(tasks.by_tid[&Tid(10)].place, Place::On(1));
    assert_eq!(tasks.cpus[0].on, None);
    tell(&mut tasks, 10, 170, 1, SLEEP);
    assert_eq!(tasks.by_tid[&Tid(10)].place, Place::Asleep);
}

#[test]
fn a_stack_is_of_its_own_sleep_only() {
    let mut tasks = tasks();
    tell(&mut tasks, 10, 130, 0, Kind::Stack(StackPlace::default()));
    tell(&mut tasks, 10, 131, 0, SLEEP);
    tell(&mut tasks, 10, 140, 0, Kind::SwitchIn);
    // Its next one was not recorded.
    tell(&mut tasks, 10, 150, 0, SLEEP);
    assert!(matches!(tasks.by_tid[&Tid(10)].stack, Stack::None));
}

#[test]
fn a_new_thread_has_its_creators_name() {
    let mut tasks = tasks();
    tell(&mut tasks, 10, 120, 0, Kind::Name("boss".to_owned()));
    let events = born(&mut tasks, 11, 130);
    let thread = TreeEvent::Thread {
        pid: Pid(10),
        tid: Tid(11),
        start: Timestamp(130),
        is_new: true,
    };
    let name = TreeEvent::Name {
        tid: Tid(11),
        time: Timestamp(130),
        name: "boss".to_owned(),
    };
    assert_eq!(events, [thread, name]);
    assert_eq!(tasks.by_tid[&Tid(11)].place, Place::Unborn);
}

#[test]
fn exec_leaves_the_first_thread_and_no_other() {
    let mut tasks = tasks();
    born(&mut tasks, 11, 110);
    born(&mut tasks, 12, 111);
    tell(&mut tasks, 11, 112, 1, Kind::SwitchIn);
    // The first one ends, and 11 takes its number.
    tell(&mut tasks, 10, 120, 0, Kind::Exit);
    let events = tell(&mut tasks, 10, 130, 1, Kind::Exec("new".to_owned()));
    assert_eq!(tasks.by_tid.keys().copied().collect::<Vec<_>>(), [Tid(10)]);
    assert_eq!(tasks.by_tid[&Tid(10)].place, Place::On(1));
    let lives: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            TreeEvent::Thread { tid, .. } => Some(format!("+{tid}")),
            TreeEvent::ThreadEnd { tid, .. } => Some(format!("-{tid}")),
            TreeEvent::ProcessEnd { .. } => Some("end".to_owned()),
            TreeEvent::Exec { .. } => Some("exec".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(lives[0], "+10");
    assert!(lives[1..3].contains(&"-11".to_owned()) && lives[1..3].contains(&"-12".to_owned()));
    assert_eq!(lives[3..], ["exec"]);
}

#[test]
fn after_lost_records_nothing_is_taken_for_known() {
    let mut tasks = tasks();
    born(&mut tasks, 11, 110);
    tell(&mut tasks, 11, 115, 1, Kind::SwitchIn);
    tell(&mut tasks, 11, 120, 1, SLEEP);
    tasks.fresh.clear();
    for task in tasks.by_tid.values_mut() {
        task.is_fresh = false;
    }
    tasks.is_unsure = false;
    tell(&mut tasks, 0, 125, 0, Kind::Lost(3));
    assert!(tasks.may_run());
    assert_eq!(tasks.lost_now, 3);
    assert!(
        tasks
            .by_tid
            .values()
            .all(|task| task.place == Place::Unknown)
    );
    let mut fresh = tasks.fresh.clone();
    fresh.sort_unstable();
    assert_eq!(fresh, [Tid(10), Tid(11)]);
    // One whose birth was among them is taken in when it is heard of.
    tell(&mut tasks, 13, 130, 0, Kind::SwitchIn);
    assert_eq!(tasks.by_tid[&Tid(13)].place, Place::On(0));
}

#[test]
fn the_last_thread_ends_its_process() {
    let mut tasks = tasks();
    born(&mut tasks, 11, 110);
    tell(&mut tasks, 10, 120, 0, Kind::Exit);
    assert!(tasks.exits.is_empty() && !tasks.is_over());
    tell(&mut tasks, 11, 130, 0, Kind::Exit);
    assert!(!tasks.exits.is_empty());
    let mut ends = Vec::new();
    tasks.exits.report(&mut |event| ends.push(event));
    let end = TreeEvent::ProcessEnd {
        pid: Pid(10),
        time: Timestamp(130),
        status: None,
    };
    assert_eq!(ends, [end]);
    assert!(tasks.is_over());
}
