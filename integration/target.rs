//! A program that runs beside the test and answers it: the far end of `programs/steady.c`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::machine::{self, SOON};
use crate::{program, sprof};

/// A running `steady`, alone or under sprof.
pub struct Target {
    child: Child,
    orders: Option<ChildStdin>,
    lines: Receiver<String>,
    pid: Option<u32>,
}

impl Target {
    /// Starts `steady` with so many processes, and waits until all of it runs.
    pub fn steady(processes: u32) -> Target {
        let mut command = Command::new(program::usual("steady"));
        let mut target = Target::start(command.arg(processes.to_string()));
        assert!(target.ready(), "steady ended at once");
        target
    }

    /// Starts a command that is, or ends in, a `steady`, and does not wait.
    pub fn start(command: &mut Command) -> Target {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let orders = child.stdin.take();
        let lines = lines_of(child.stdout.take().unwrap());
        Target {
            child,
            orders,
            lines,
            pid: None,
        }
    }

    /// Waits for the program's first line. `false` when it ended, or was never begun.
    pub fn ready(&mut self) -> bool {
        let Some(line) = self.line() else {
            return false;
        };
        let pid = line.strip_prefix("ready ").expect("the line `ready PID`");
        self.pid = Some(pid.parse().unwrap());
        true
    }

    /// The kernel's number of the program's first process.
    pub fn pid(&self) -> u32 {
        self.pid.expect("a target that is ready")
    }

    /// The process that was started: the program itself, or sprof.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Fails unless every thread of every process of it makes progress.
    #[track_caller]
    pub fn assert_alive(&mut self) {
        let orders = self.orders.as_mut().expect("a target not told to end");
        orders.write_all(b"\n").unwrap();
        assert_eq!(self.line().as_deref(), Some("alive"));
    }

    /// Tells the program to end, and waits until it says that it has done so in good order.
    #[track_caller]
    pub fn end(&mut self) {
        self.orders = None;
        assert_eq!(self.line().as_deref(), Some("done"));
    }

    /// Tells the program to end; gives all it says until it says that it has done so.
    #[track_caller]
    pub fn end_with_lines(&mut self) -> Vec<String> {
        self.orders = None;
        let mut lines = Vec::new();
        loop {
            let line = self.line().expect("the line `done`");
            if line == "done" {
                return lines;
            }
            lines.push(line);
        }
    }

    /// As [`Target::end`], then the exit code of the process that was started.
    #[track_caller]
    pub fn exit_code(&mut self) -> i32 {
        self.end();
        sprof::code(sprof::wait(&mut self.child))
    }

    /// The next line, or `None` when all processes that could write one are gone.
    #[track_caller]
    fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(SOON) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let states = self.pid.map(|pid| {
                    let tree = machine::tree(pid).into_iter();
                    tree.flat_map(|pid| machine::threads(pid).into_iter().map(move |t| (pid, t)))
                        .map(|(pid, tid)| (pid, tid, machine::state(pid, tid)))
                        .collect::<Vec<_>>()
                });
                panic!("the target said nothing for {SOON:?}; its threads: {states:?}");
            }
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Of a test that went well nothing is left to kill. What sprof ran ends with its stdin.
        self.orders = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines of a stream as they come; the channel closes at its end.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
