//! A terminal, as a program on one sees it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::pty::openpty;

use crate::machine::{SOON, until};
use crate::sprof;

/// What the key sends.
pub const CTRL_C: &[u8] = &[3];
/// What the key sends.
pub const CTRL_Z: &[u8] = &[26];

/// The command that a terminal runs in the foreground.
pub struct Terminal {
    keyboard: File,
    child: Child,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Runs a command in the foreground of a new terminal.
    pub fn run(command: &[&str]) -> Terminal {
        let ends = openpty(None, None).unwrap();
        let slave = File::from(ends.slave);
        // setsid -c makes its stdin the controlling terminal of what it runs. A test that runs in the
        // background of a script has been told to ignore what the keys of its terminal send.
        let mut setsid = Command::new("setsid");
        setsid.args(["-c", "env", "--default-signal=INT,QUIT"]);
        setsid.args(command);
        setsid.stdin(slave.try_clone().unwrap());
        setsid.stdout(slave.try_clone().unwrap());
        let child = setsid.stderr(slave).spawn().unwrap();
        drop(setsid); // with its copies of the slave, so that the screen has an end
        let keyboard = File::from(ends.master);
        let mut reader = keyboard.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&screen);
        // Whoever writes to a full terminal that nobody reads waits for ever.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                shown.extend_from_slice(&bytes[..count]);
            }
        });
        Terminal {
            keyboard,
            child,
            screen,
        }
    }

    /// Types these bytes.
    pub fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    /// What stands on the screen, from the beginning on.
    pub fn screen(&self) -> String {
        let bytes = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the screen shows some words, for the so-manieth time.
    #[track_caller]
    pub fn shows(&self, words: &str, times: usize) {
        until(&format!("{words:?} on the screen"), SOON, || {
            (self.screen().matches(words).count() >= times).then_some(())
        });
    }

    /// The number of the process that was run.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the command's end.
    pub fn exit_code(&mut self) -> i32 {
        sprof::code(sprof::wait(&mut self.child))
    }
}
