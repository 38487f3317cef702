//! Threads that come and go.

use crate::checks::{Cover, Inside, wrong_max};
use crate::machine::{Scratch, alone, full};
use crate::recording::Recording;
use crate::{program, sprof};

#[test]
fn brief_threads_void_no_tick_of_a_long_one() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("churn.sprof");
        let mut record = engine.record(100, &file);
        record.arg("--").arg(program::usual("thread_churn"));
        record.arg(if full() { "30" } else { "5" });
        let outcome = sprof::run(&mut record);
        let text = outcome.assert_code(0).text();
        let (hot, lives) = text
            .strip_prefix("hot ")
            .and_then(|line| line.trim_end().split_once(" threads "))
            .expect("the program's account");
        let pid = hot.split(' ').next().unwrap().parse().unwrap();

        let recording = Recording::of(&file);
        let inside = Inside::parse(pid, hot);
        let cover = Cover::of(&recording, pid, pid, inside.begin, inside.end);
        assert!(cover.ticks > 100, "{cover:?}");
        assert!(cover.missed() <= wrong_max(cover.ticks, 0.001), "{cover:?}");
        let verdict = inside.judge(&recording, |sample| sample.shows("hot"));
        assert_eq!(verdict.lies, 0, "{verdict:?}");
        let wrong = verdict.judged - verdict.right;
        assert!(wrong <= wrong_max(verdict.judged, 0.02), "{verdict:?}");

        let lives: usize = lives.parse().unwrap();
        assert_eq!(recording.threads.len(), lives, "thread lives");
        let ended = recording.threads.iter().filter(|thread| {
            let end = thread.end_ns.unwrap_or(0);
            end >= thread.start_ns
        });
        assert_eq!(
            ended.count(),
            lives,
            "lives with an end that is not before their start"
        );
    });
}
