//! The `.sprof` format from outside: what is written is what is read, by two readers; what is cut,
//! damaged or hostile never gives wrong data.
#![allow(clippy::unwrap_used, missing_docs)]

mod content;
mod damage;
mod generate;
mod golden;
mod identity;
mod second;
mod size;
mod strange;
