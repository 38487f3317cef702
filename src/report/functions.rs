//! Where the time went: functions by their own time and by that of all they called.

use std::collections::HashMap;

use crate::profile::{Frame, FrameKind, Nanos, Profile, Sample, StackId, StackTable, SymbolReason};

use super::Length;
use super::columns::{Align, Columns, clean, headline, percent};
use super::gather::Gathered;

/// Lines of a short list.
const SHORT: usize = 12;

/// All functions seen, and what their samples add up to.
#[derive(Debug)]
pub(super) struct Functions<'a> {
    profile: &'a Profile,
    list: Vec<Function>,
    ids: HashMap<(String, Option<&'a str>), usize>,
    frames: HashMap<Frame, FrameFacts>,
    stacks: HashMap<StackId, StackFacts>,
    missing: Vec<Missing>,
    missing_ids: HashMap<(Option<&'a str>, SymbolReason), usize>,
    /// All samples.
    all: Weight,
}

/// One function of one module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) module: Option<String>,
    /// Samples in which it is the leaf.
    pub(super) own: Weight,
    /// Samples in which it is anywhere; once each, however often it called itself.
    pub(super) total: Weight,
}

/// What samples weigh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) samples: u64,
    pub(super) cpu: Nanos,
}

/// Code of one module that has no names, for one reason.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) module: Option<String>,
    pub(super) reason: SymbolReason,
    /// Distinct addresses.
    pub(super) addresses: u64,
    /// Samples with at least one of them.
    pub(super) samples: u64,
}

#[derive(Clone, Debug)]
struct FrameFacts {
    /// Innermost first; empty for what is not code.
    functions: Vec<usize>,
    missing: Option<usize>,
}

/// What is known of a stack of the current table.
#[derive(Debug)]
struct StackFacts {
    frames: Vec<Frame>,
    own: Option<usize>,
    functions: Vec<usize>,
    missing: Vec<usize>,
}

impl Weight {
    fn add(&mut self, other: Weight) {
        self.samples += other.samples;
        self.cpu += other.cpu;
    }
}

impl<'a> Functions<'a> {
    pub(super) fn new(profile: &'a Profile) -> Functions<'a> {
        Functions {
            profile,
            list: Vec::new(),
            ids: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
            missing: Vec::new(),
            missing_ids: HashMap::new(),
            all: Weight::default(),
        }
    }

    /// Takes in one sample.
    pub(super) fn count(&mut self, sample: &Sample, table: &StackTable) {
        let weight = Weight {
            samples: 1,
            cpu: sample.cpu.unwrap_or_default(),
        };
        self.all.add(weight);
        let Some(stack) = sample.stack.filter(|stack| stack.index() < table.len()) else {
            let reason = sample.end.reason().unwrap_or("not recorded");
            let id = self.id(&format!("<no stack: {reason}>"), None);
            self.list[id].own.add(weight);
            self.list[id].total.add(weight);
            return;
        };
        // The table of this tick may be another than that of the last: an id alone is no proof.
        let same = self
            .stacks
            .get(&stack)
            .is_some_and(|known| table.frames(Some(stack)).eq(known.frames.iter().copied()));
        if !same {
            let facts = self.facts(table.frames(Some(stack)).collect());
            self.stacks.insert(stack, facts);
        }
        let Some(facts) = self.stacks.get(&stack) else {
            return;
        };
        if let Some(own) = facts.own {
            self.list[own].own.add(weight);
        }
        for &id in &facts.functions {
            self.list[id].total.add(weight);
        }
        for &id in &facts.missing {
            self.missing[id].samples += 1;
        }
    }

    fn facts(&mut self, frames: Vec<Frame>) -> StackFacts {
        let mut functions = Vec::new();
        let mut missing = Vec::new();
        for &frame in &frames {
            let facts = self.frame(frame);
            functions.extend(&facts.functions);
            missing.extend(facts.missing);
        }
        let own = functions.first().copied();
        for ids in [&mut functions, &mut missing] {
            ids.sort_unstable();
            ids.dedup();
        }
        StackFacts {
            frames,
            own,
            functions,
            missing,
        }
    }

    fn frame(&mut self, frame: Frame) -> &FrameFacts {
        if !self.frames.contains_key(&frame) {
            let facts = self.frame_facts(frame);
            self.frames.insert(frame, facts);
        }
        &self.frames[&frame]
    }

    fn frame_facts(&mut self, frame: Frame) -> FrameFacts {
        let profile = self.profile;
        let mut functions = Vec::new();
        let mut missing = None;
        for named in profile.named(frame) {
            if named.kind == FrameKind::Marker {
                continue;
            }
            let Some(reason) = named.missing else {
                functions.push(self.id(&named.name, named.module));
                continue;
            };
            // Addresses without a name are one entry a module: alone, each says nothing.
            let name = match named.module {
                Some(path) => format!("<no name in {}>", path.rsplit('/').next().unwrap_or(path)),
                None => "<code of no module>".to_owned(),
            };
            functions.push(self.id(&name, named.module));
            missing = Some(self.missing(named.module, reason));
        }
        FrameFacts { functions, missing }
    }

    fn missing(&mut self, module: Option<&'a str>, reason: SymbolReason) -> usize {
        let list = &mut self.missing;
        let id = *self.missing_ids.entry((module, reason)).or_insert_with(|| {
            list.push(Missing {
                module: module.map(str::to_owned),
                reason,
                addresses: 0,
                samples: 0,
            });
            list.len() - 1
        });
        self.missing[id].addresses += 1;
        id
    }

    fn id(&mut self, name: &str, module: Option<&'a str>) -> usize {
        let list = &mut self.list;
        *self
            .ids
            .entry((name.to_owned(), module))
            .or_insert_with(|| {
                list.push(Function {
                    name: name.to_owned(),
                    module: module.map(str::to_owned),
                    own: Weight::default(),
                    total: Weight::default(),
                });
                list.len() - 1
            })
    }

    /// All functions, in the order they were seen.
    pub(super) fn list(&self) -> &[Function] {
        &self.list
    }

    /// Code without names, in the order it was seen.
    pub(super) fn missing_names(&self) -> &[Missing] {
        &self.missing
    }
}

/// Appends the four lists: CPU and wall time, by own and by total.
pub(super) fn write(out: &mut String, gathered: &Gathered<'_>, length: Length) {
    let all = gathered.functions.all;
    if all.samples == 0 {
        return;
    }
    let cpu = |weight: Weight| weight.cpu.0;
    let samples = |weight: Weight| weight.samples;
    let own = |function: &Function| function.own;
    let total = |function: &Function| function.total;
    let whole = format!("CPU time {}", all.cpu);
    if all.cpu.0 > 0 {
        // A thread that works in short bursts is mostly found asleep after them.
        let note = "(what a thread used since its last sample counts where it is found)";
        list(
            out,
            gathered,
            length,
            &format!("{whole}: functions by their own\n  {note}"),
            cpu,
            own,
        );
        list(
            out,
            gathered,
            length,
            &format!("{whole}: with all they call"),
            cpu,
            total,
        );
    } else if gathered.cpu_unknown == all.samples {
        headline(out, "CPU time: not known");
    } else {
        headline(out, "CPU time: none");
    }
    let whole = match gathered.wall(all.samples) {
        Some(wall) => format!("Wall time {wall} of all threads, waiting ones too"),
        None => format!(
            "Wall time of {} samples, of waiting threads too",
            all.samples
        ),
    };
    list(
        out,
        gathered,
        length,
        &format!("{whole}: functions by their own"),
        samples,
        own,
    );
    list(
        out,
        gathered,
        length,
        &format!("{whole}: with all they call"),
        samples,
        total,
    );
}

fn list(
    out: &mut String,
    gathered: &Gathered<'_>,
    length: Length,
    title: &str,
    measure: impl Fn(Weight) -> u64,
    key: impl Fn(&Function) -> Weight,
) {
    let functions = &gathered.functions;
    let mut sorted: Vec<&Function> = functions
        .list()
        .iter()
        .filter(|function| measure(key(function)) > 0)
        .collect();
    sorted.sort_by(|a, b| {
        let order = measure(key(b)).cmp(&measure(key(a)));
        order.then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module)))
    });
    let whole = measure(functions.all);
    let shown = length.limit(SHORT, sorted.len());
    headline(out, title);
    let mut columns = Columns::new(&[Align::Right, Align::Right, Align::Left]);
    columns.line(["own", "total", "function"]);
    for function in &sorted[..shown] {
        let module = function
            .module
            .as_deref()
            .and_then(|path| path.rsplit('/').next());
        let name = match module {
            Some(module) if !function.name.starts_with('<') => {
                format!("{} ({module})", function.name)
            }
            _ => function.name.clone(),
        };
        columns.line([
            percent(measure(function.own), whole),
            percent(measure(function.total), whole),
            clean(&name),
        ]);
    }
    if shown < sorted.len() {
        columns.line([
            "",
            "",
            &format!("… {} more functions (--all)", sorted.len() - shown),
        ]);
    }
    columns.write(out);
}
