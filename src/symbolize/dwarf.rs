//! Functions, inlined functions and lines from DWARF.

use std::borrow::Cow;

use addr2line::{Context, LookupResult};
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};

use crate::module::ObjectFile;
use crate::profile::ModuleOffset;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Sections that say nothing of functions and lines, and would be decompressed. The locations of
/// variables alone are a sixth of glibc's debug file.
const UNUSED: [SectionId; 6] = [
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugMacinfo,
    SectionId::DebugMacro,
    SectionId::DebugNames,
    SectionId::DebugTypes,
];

/// The debug sections of a file, decompressed.
pub(super) struct Sections<'a>(DwarfSections<Cow<'a, [u8]>>);

impl<'a> Sections<'a> {
    pub(super) fn of(file: &'a ObjectFile) -> Sections<'a> {
        let load = |id: SectionId| {
            if UNUSED.contains(&id) {
                return Ok(Cow::default());
            }
            let section = file.section(id.name()).map(|section| section.data);
            Ok::<_, std::convert::Infallible>(section.unwrap_or_default())
        };
        let Ok(sections) = DwarfSections::load(load);
        Sections(sections)
    }
}

/// One function of a chain; the innermost comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DwarfFrame {
    /// Linkage name where there is one, as written.
    pub(super) function: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// The DWARF of one file. Units are read when an address of theirs is asked for.
pub(super) struct Dwarf<'a>(Context<Slice<'a>>);

impl<'a> Dwarf<'a> {
    /// `None` when there is none.
    pub(super) fn new(sections: &'a Sections<'_>) -> Option<Dwarf<'a>> {
        let mut dwarf = sections
            .0
            .borrow(|data| EndianSlice::new(data, LittleEndian));
        let readable = readable_units(&dwarf);
        if readable == 0 {
            return None;
        }
        let info = gimli::Section::reader(&dwarf.debug_info)
            .slice()
            .get(..readable)?;
        dwarf.debug_info = gimli::DebugInfo::new(info, LittleEndian);
        Context::from_dwarf(dwarf).ok().map(Dwarf)
    }

    /// The functions at an address; empty when no unit knows it or its unit cannot be read.
    pub(super) fn chain(&self, offset: ModuleOffset) -> Vec<DwarfFrame> {
        let mut chain = Vec::new();
        let found = match self.0.find_frames(offset.0) {
            LookupResult::Output(found) => found,
            // Split DWARF that is not at hand: what the skeleton knows.
            load @ LookupResult::Load { .. } => load.skip_all_loads(),
        };
        let Ok(mut frames) = found else {
            return self.line_only(offset);
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref();
            let name = name.and_then(|it| it.raw_name().ok().map(Cow::into_owned));
            let location = frame.location;
            chain.push(DwarfFrame {
                function: name,
                file: location.as_ref().and_then(|it| it.file.map(str::to_owned)),
                line: location.and_then(|it| it.line).filter(|&line| line != 0),
            });
        }
        chain
    }

    fn line_only(&self, offset: ModuleOffset) -> Vec<DwarfFrame> {
        let Ok(Some(location)) = self.0.find_location(offset.0) else {
            return Vec::new();
        };
        vec![DwarfFrame {
            function: None,
            file: location.file.map(str::to_owned),
            line: location.line.filter(|&line| line != 0),
        }]
    }
}

/// Bytes of `.debug_info` up to the first unit header that cannot be read: one bad header would
/// otherwise lose all units.
fn readable_units(dwarf: &gimli::Dwarf<Slice<'_>>) -> usize {
    let mut end = 0;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        end += header.length_including_self();
    }
    end
}
