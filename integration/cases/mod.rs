//! Programs run under sprof, and what a true recording of each must say.

mod carried;
mod interrupt;
mod kill;
mod names;
mod refusals;
mod signals;
mod sinks;
mod spans;
mod stacks;
mod states;
mod threads;
mod tree;
mod viewers;
mod wrapper;
