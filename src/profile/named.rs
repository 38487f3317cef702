//! Frames as people see them: with names, inlined functions unfolded.

use std::borrow::Cow;

use super::{Address, Frame, Profile, SymbolReason};

/// What kind of code a named frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// A function of a module, or an address.
    Native,
    /// A function inlined into the next frame (towards the root).
    Inlined,
    /// Not code; see [`Marker`](super::Marker).
    Marker,
}

impl FrameKind {
    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            FrameKind::Native => "native",
            FrameKind::Inlined => "inlined",
            FrameKind::Marker => "marker",
        }
    }
}

/// A frame with its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedFrame<'a> {
    /// Function; `module+0x12ab` or `0x7f…` where there is none.
    pub name: Cow<'a, str>,
    /// Kind.
    pub kind: FrameKind,
    /// Path of the module.
    pub module: Option<&'a str>,
    /// Source file.
    pub file: Option<&'a str>,
    /// Line in the file.
    pub line: Option<u32>,
    /// The lookup address: in the module's own address space where there is a module, else in the
    /// target's memory. `None` for a marker.
    pub address: Option<Address>,
    /// Why it has no function name.
    pub missing: Option<SymbolReason>,
}

impl Profile {
    /// The names of one frame, innermost (inlined) first; at least one.
    pub fn named(&self, frame: Frame) -> Vec<NamedFrame<'_>> {
        let bare = |name: Cow<'static, str>, kind, address, missing| NamedFrame {
            name,
            kind,
            module: None,
            file: None,
            line: None,
            address,
            missing,
        };
        match frame {
            Frame::Marker(marker) => {
                vec![bare(
                    Cow::Owned(marker.name()),
                    FrameKind::Marker,
                    None,
                    None,
                )]
            }
            Frame::Unmapped { address } => vec![bare(
                Cow::Owned(format!("{:#x}", address.0)),
                FrameKind::Native,
                Some(address),
                Some(SymbolReason::NoModule),
            )],
            Frame::Native { module: id, offset } => {
                let address = Some(Address(offset.0));
                let module = self.module(id);
                let path = module.map(|module| module.path.as_str());
                match self.symbols.get(id, offset) {
                    Ok(chain) => chain
                        .iter()
                        .map(|symbol| NamedFrame {
                            name: Cow::Borrowed(&symbol.function),
                            kind: if symbol.inlined {
                                FrameKind::Inlined
                            } else {
                                FrameKind::Native
                            },
                            module: path,
                            file: symbol.file.as_deref(),
                            line: symbol.line,
                            address,
                            missing: None,
                        })
                        .collect(),
                    Err(reason) => {
                        let name = module.map_or("?", |module| module.name());
                        let name = Cow::Owned(format!("{name}+{:#x}", offset.0));
                        let frame = bare(name, FrameKind::Native, address, Some(reason));
                        vec![NamedFrame {
                            module: path,
                            ..frame
                        }]
                    }
                }
            }
        }
    }
}
