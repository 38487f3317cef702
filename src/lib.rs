#![doc = include_str!("ARCHITECTURE.md")]

pub mod profile;

pub mod memory;
pub mod sys;
pub mod term;

pub mod format;
pub mod module;
pub mod process;

pub mod symbolize;
pub mod unwind;

pub mod convert;
pub mod report;

pub mod engine;
pub mod record;

pub mod cli;
