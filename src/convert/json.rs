//! JSON written piece by piece, so that a document is never in memory as a whole.

use std::io::Write;

use serde::Serialize;

use super::ConvertError;

/// Writes the items of an array or the members of an object with commas between them.
pub(super) struct List<'w> {
    out: &'w mut dyn Write,
    close: &'static str,
    empty: bool,
}

impl<'w> List<'w> {
    /// Begins an array.
    pub(super) fn array(out: &'w mut dyn Write) -> Result<Self, ConvertError> {
        List::begin(out, "[", "]")
    }

    /// Begins an object.
    pub(super) fn object(out: &'w mut dyn Write) -> Result<Self, ConvertError> {
        List::begin(out, "{", "}")
    }

    fn begin(
        out: &'w mut dyn Write,
        open: &'static str,
        close: &'static str,
    ) -> Result<Self, ConvertError> {
        out.write_all(open.as_bytes())?;
        Ok(List {
            out,
            close,
            empty: true,
        })
    }

    /// Where the next item is to be written by hand.
    pub(super) fn item(&mut self) -> Result<&mut dyn Write, ConvertError> {
        if !self.empty {
            self.out.write_all(b",")?;
        }
        self.empty = false;
        Ok(&mut *self.out)
    }

    /// Where the value of the next member is to be written by hand.
    pub(super) fn member(&mut self, name: &str) -> Result<&mut dyn Write, ConvertError> {
        let out = self.item()?;
        serde_json::to_writer(&mut *out, name)?;
        out.write_all(b":")?;
        Ok(out)
    }

    /// The next item.
    pub(super) fn push(&mut self, item: &impl Serialize) -> Result<(), ConvertError> {
        Ok(serde_json::to_writer(self.item()?, item)?)
    }

    /// The next member.
    pub(super) fn set(&mut self, name: &str, value: &impl Serialize) -> Result<(), ConvertError> {
        Ok(serde_json::to_writer(self.member(name)?, value)?)
    }

    /// The next member, an array.
    pub(super) fn set_all<T: Serialize>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), ConvertError> {
        let mut array = List::array(self.member(name)?)?;
        for value in values {
            array.push(&value)?;
        }
        array.end()
    }

    /// Closes it.
    pub(super) fn end(self) -> Result<(), ConvertError> {
        Ok(self.out.write_all(self.close.as_bytes())?)
    }
}
