//! Names, modules, frames and callstacks, each written once and then known by a number.

use super::super::ConvertError;
use super::super::stacks::{EntryId, NodeId};
use super::proto::{
    Callstack, Frame, InternedData, InternedName, InternedString, Mapping, TracePacket,
};
use super::{NO_MODULE, Perfetto, entry_iid};

impl<'a> Perfetto<'a, '_> {
    /// Defines what the stack of this node is made of, as far as no earlier packet did.
    pub(super) fn intern(&mut self, node: NodeId) -> Result<(), ConvertError> {
        if self.callstacks.contains_key(&node) {
            return Ok(());
        }
        let mut data = InternedData::default();
        while let Some(function) = self.stacks.entries().get(self.entries).cloned() {
            let iid = entry_iid(EntryId(self.entries as u32));
            self.entries += 1;
            let mapping_id = self.intern_mapping(function.module, &mut data);
            data.frames.push(Frame {
                iid,
                function_name_id: iid,
                mapping_id,
            });
            data.function_names.push(InternedString {
                iid,
                str: function.name.as_bytes().to_vec(),
            });
            data.event_names.push(InternedName {
                iid,
                name: function.name.into_owned(),
            });
        }
        let mut path = Vec::new();
        self.stacks.path(node, &mut path);
        let iid = self.callstacks.len() as u64 + 1;
        data.callstacks.push(Callstack {
            iid,
            frame_ids: path.into_iter().map(entry_iid).collect(),
        });
        self.callstacks.insert(node, iid);
        self.put(TracePacket {
            interned_data: Some(data),
            ..TracePacket::default()
        })
    }

    fn intern_mapping(&mut self, path: Option<&'a str>, data: &mut InternedData) -> u64 {
        let Some(path) = path else { return NO_MODULE };
        if let Some(iid) = self.mappings.get(path) {
            return *iid;
        }
        let iid = NO_MODULE + 1 + self.mappings.len() as u64;
        self.mappings.insert(path, iid);
        let modules = self.profile.modules.iter();
        let mut same = modules.filter(|module| module.path == path);
        let build_id = same.find_map(|module| module.build_id.as_ref());
        data.build_ids.extend(build_id.map(|id| InternedString {
            iid,
            str: id.0.clone(),
        }));
        data.mapping_paths.push(InternedString {
            iid,
            str: path.as_bytes().to_vec(),
        });
        data.mappings.push(Mapping {
            iid,
            build_id: build_id.map(|_| iid),
            path_string_ids: vec![iid],
        });
        iid
    }
}
