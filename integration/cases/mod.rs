//! Programs run under sprof, and what a true recording of each must say.

mod carried;
mod choice;
mod containers;
mod crowds;
mod faults;
mod interrupt;
mod jobs;
mod kill;
mod lives;
mod names;
mod outer_stacks;
mod pauses;
mod refusals;
mod signals;
mod sinks;
mod soak;
mod spans;
mod stacks;
mod states;
mod threads;
mod tree;
mod viewers;
mod wrapper;
