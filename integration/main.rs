//! sprof on real programs that know what a true recording of them must say.
//!
//! The programs are in `programs/`, each with its truth in its first comment. `checks` holds the
//! judges, pure functions over a recording; `cases` runs programs under sprof and asks the judges.
//! `scripts/integration` installs what the cases need and runs them.
//!
//! `SPROF_BIN` names another sprof to be judged; `SPROF_INTEGRATION=full` makes the cases longer
//! and more (the best part of an hour in place of minutes).
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    unreachable_pub,
    reason = "nothing of a test program can be reached from outside"
)]

mod cases;
mod checks;
mod engine;
mod machine;
mod program;
mod recording;
mod sprof;
mod target;
mod terminal;
