//! The lines as they are written; the module above says what their fields mean.

use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Line<'a> {
    Session(SessionLine<'a>),
    Process(ProcessLine<'a>),
    Thread(ThreadLine<'a>),
    Tick(TickLine),
    Loss(LossLine<'a>),
    Counter(CounterLine<'a>),
}

#[derive(Serialize)]
pub(super) struct SessionLine<'a> {
    pub(super) version: &'a str,
    pub(super) command: &'a [String],
    pub(super) roots: Vec<i32>,
    pub(super) rate: f64,
    pub(super) interval_ns: u64,
    pub(super) engine: &'a str,
    pub(super) scheduling: &'a str,
    pub(super) host: &'a str,
    pub(super) boot_id: &'a str,
    pub(super) kernel: &'a str,
    pub(super) arch: &'a str,
    pub(super) page_size: u64,
    pub(super) cpus: u32,
    pub(super) clocks: ClocksValue,
    pub(super) options: &'a [String],
    pub(super) clocks_end: Option<ClocksValue>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "names of fields of the output")]
pub(super) struct ClocksValue {
    pub(super) monotonic_ns: u64,
    pub(super) boottime_ns: u64,
    pub(super) realtime_ns: u64,
    pub(super) error_ns: u64,
}

#[derive(Serialize)]
pub(super) struct ProcessLine<'a> {
    pub(super) process: u32,
    pub(super) pid: i32,
    pub(super) ppid: i32,
    pub(super) inner_pid: Option<i32>,
    pub(super) name: String,
    pub(super) exe: &'a str,
    pub(super) argv: &'a [String],
    pub(super) start_ns: u64,
    pub(super) end_ns: Option<u64>,
    pub(super) exit_status: Option<ExitValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExitValue {
    Code(i32),
    Signal(i32),
}

#[derive(Serialize)]
pub(super) struct ThreadLine<'a> {
    pub(super) thread: u32,
    pub(super) pid: Option<i32>,
    pub(super) tid: i32,
    pub(super) name: &'a str,
    pub(super) names: Vec<NameValue<'a>>,
    pub(super) start_ns: u64,
    pub(super) end_ns: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct NameValue<'a> {
    pub(super) from_ns: u64,
    pub(super) name: &'a str,
}

#[derive(Serialize)]
pub(super) struct TickLine {
    pub(super) tick: u64,
    pub(super) time_ns: u64,
    pub(super) planned_ns: u64,
    pub(super) stop_ns: u64,
    pub(super) skew_ns: u64,
    pub(super) stops: u32,
    pub(super) perturbed: u32,
    pub(super) pauses: Vec<PauseValue>,
}

#[derive(Serialize)]
pub(super) struct PauseValue {
    pub(super) process: u32,
    pub(super) pid: Option<i32>,
    pub(super) pause_ns: u64,
}

#[derive(Serialize)]
pub(super) struct FrameValue<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'static str,
    pub(super) module: Option<&'a str>,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
    pub(super) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct LossLine<'a> {
    pub(super) tick: Option<u64>,
    pub(super) time_ns: u64,
    pub(super) what: &'static str,
    pub(super) reason: &'a str,
    pub(super) count: u64,
    pub(super) pid: Option<i32>,
    pub(super) tid: Option<i32>,
}

#[derive(Serialize)]
pub(super) struct CounterLine<'a> {
    pub(super) time_ns: u64,
    pub(super) name: &'a str,
    pub(super) value: u64,
    pub(super) unit: &'static str,
    pub(super) kind: &'static str,
    pub(super) pid: Option<i32>,
    pub(super) tid: Option<i32>,
    pub(super) cpu: Option<u16>,
}
