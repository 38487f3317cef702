//! What threads were doing: running or asleep, in which system call, for how much CPU time.

use crate::checks::wrong_max;
use crate::machine::{Scratch, alone, full, shared};
use crate::recording::{Recording, Sample};
use crate::{program, sprof};

/// Labels that may be wrong.
const WRONG: f64 = 0.05;
const RATE: u32 = 100;

/// A thread's own account.
struct Account {
    tid: u32,
    name: String,
    begin: u64,
    end: u64,
    cpu: u64,
}

/// Runs a program for some seconds; its threads' accounts and the recording.
fn recorded(name: &str) -> (Vec<Account>, Recording) {
    let scratch = Scratch::new();
    let file = scratch.file("states.sprof");
    let mut record = sprof::record(RATE, &file);
    record.arg("--").arg(program::usual(name));
    record.arg(if full() { "30" } else { "4" });
    let outcome = sprof::run(&mut record);
    let text = outcome.assert_code(0).text();
    let accounts = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        Account {
            tid: number(0) as u32,
            name: words[1].to_owned(),
            begin: number(2),
            end: number(3),
            cpu: if words.len() > 4 { number(4) } else { 0 },
        }
    });
    (accounts.collect(), Recording::of(&file))
}

impl Account {
    /// The thread's samples while its account holds. Of one that did not stop in time, and says
    /// so, the state is another's word.
    fn samples<'r>(&self, recording: &'r Recording) -> Vec<&'r Sample> {
        let mine = recording.samples.iter().filter(|sample| {
            sample.tid == self.tid
                && (self.begin..self.end).contains(&sample.time_ns)
                && !sample.is_without_stack()
        });
        mine.collect()
    }

    /// Fails unless nearly all samples are right.
    #[track_caller]
    fn assert_mostly(&self, samples: &[&Sample], is_right: impl Fn(&Sample) -> bool) {
        let wrong: Vec<_> = samples.iter().filter(|sample| !is_right(sample)).collect();
        assert!(samples.len() > 50, "{}: {}", self.name, samples.len());
        assert!(
            wrong.len() <= wrong_max(samples.len(), WRONG),
            "{}: {} of {} wrong: {:?}",
            self.name,
            wrong.len(),
            samples.len(),
            wrong.first()
        );
    }
}

#[test]
fn a_blocked_thread_is_in_the_call_that_it_made() {
    let _cpus = shared();
    let (accounts, recording) = recorded("blocked");
    assert_eq!(accounts.len(), 13);
    for account in accounts {
        let samples = account.samples(&recording);
        account.assert_mostly(&samples, |sample| sample.state == "sleeping");
        // One that is said to be asleep is never in another call than this; and which one it is in
        // is known after a while.
        let is_other = |sample: &&&Sample| {
            let call = sample.syscall.as_deref();
            sample.state == "sleeping" && call.is_some_and(|call| call != account.name)
        };
        let strange = samples.iter().find(is_other);
        assert!(strange.is_none(), "{}: {strange:?}", account.name);
        let last = samples.last().and_then(|sample| sample.syscall.as_deref());
        assert_eq!(last, Some(account.name.as_str()));
    }
}

#[test]
fn states_and_cpu_times_are_those_of_the_threads() {
    let _cpus = alone();
    let (accounts, recording) = recorded("states");
    assert_eq!(accounts.len(), 7);
    for account in accounts {
        let samples = account.samples(&recording);
        let on_cpu = |sample: &Sample| matches!(sample.state.as_str(), "running" | "runnable");
        let in_call = |sample: &Sample, call: &str| {
            // Of a short sleep the call is not always known.
            sample.state == "sleeping" && sample.syscall.as_deref().is_none_or(|it| it == call)
        };
        match account.name.as_str() {
            "spin" | "yield" => account.assert_mostly(&samples, on_cpu),
            "sleep" => account.assert_mostly(&samples, |s| in_call(s, "clock_nanosleep")),
            "pipe" => account.assert_mostly(&samples, |s| in_call(s, "read")),
            "duty" => {
                let right = |s: &Sample| on_cpu(s) || in_call(s, "clock_nanosleep");
                account.assert_mostly(&samples, right);
            }
            _ => account.assert_mostly(&samples, |s| on_cpu(s) || in_call(s, "futex")),
        }
        // What it used after its last sample is not in the recording: two intervals at most.
        // A sample without a stack has its part of the CPU time as well.
        let mine = recording.samples.iter().filter(|sample| {
            sample.tid == account.tid && (account.begin..account.end).contains(&sample.time_ns)
        });
        let cpu: u64 = mine.filter_map(|sample| sample.cpu_ns).sum();
        let ends = 2 * 1_000_000_000 / u64::from(RATE);
        let off = cpu.abs_diff(account.cpu);
        assert!(
            off <= account.cpu / 20 + ends,
            "{}: {cpu} ns of {}",
            account.name,
            account.cpu
        );
        if account.name == "duty" {
            let share = cpu as f64 / (account.end - account.begin) as f64;
            assert!((0.08..=0.12).contains(&share), "duty {share}");
        }
    }
}
