//! Events as bytes: each with its kind and its length, so that a reader can step over kinds that
//! are newer than itself.

use super::wire::{Cursor, Invalid, Wire, put_block, put_varint};
use crate::profile::Event;

/// Kinds of event, and the fields of each in their order.
macro_rules! events {
    ($($kind:literal $case:ident $(($value:ident))? $({ $($field:ident),* })?;)*) => {
        fn put_body(event: &Event, body: &mut Vec<u8>) -> Option<u64> {
            match event {
                $(Event::$case $(($value))? $({ $($field),* })? => {
                    $($value.put(body);)?
                    $($($field.put(body);)*)?
                    Some($kind)
                })*
                // The session is in the head of the file.
                Event::Session(_) => None,
            }
        }

        fn get_body(kind: u64, body: &mut Cursor<'_>) -> Result<Option<Event>, Invalid> {
            Ok(Some(match kind {
                $($kind => {
                    $(let $value = Wire::get(body)?;)?
                    $($(let $field = Wire::get(body)?;)*)?
                    Event::$case $(($value))? $({ $($field),* })?
                })*
                _ => return Ok(None),
            }))
        }
    };
}

events! {
    1 Clocks(clocks);
    2 ProcessStarted(process);
    3 Exec { process, image };
    4 ProcessEnded { process, time, status };
    5 ThreadStarted(thread);
    6 ThreadNamed { thread, name };
    7 ThreadEnded { thread, time };
    8 Module(module);
    9 Mapped(mapping);
    10 Unmapped { process, start, time };
    11 Loss(loss);
    12 Symbol { module, offset, found };
    13 Finished(clocks);
    14 Counter(counter);
    15 Counted { counter, value };
}

/// Writes one event; answers `false`, and writes nothing, for a session. `body` is scratch space.
pub(super) fn put_event(event: &Event, to: &mut Vec<u8>, body: &mut Vec<u8>) -> bool {
    body.clear();
    let Some(kind) = put_body(event, body) else {
        return false;
    };
    put_varint(to, kind);
    put_block(to, body);
    true
}

/// The next event; `None` for one of a kind that is not known. Fields that follow
/// those known are from a newer writer, and stepped over.
pub(super) fn get_event(from: &mut Cursor<'_>) -> Result<Option<Event>, Invalid> {
    let kind = from.varint()?;
    let event = get_body(kind, &mut Cursor::new(from.block()?))?;
    match event.as_ref().and_then(breach) {
        Some(why) => Err(Invalid(why)),
        None => Ok(event),
    }
}

/// What forbids an event whose fields are each fine.
pub(super) fn breach(event: &Event) -> Option<&'static str> {
    match event {
        Event::Symbol {
            found: Ok(chain), ..
        } if chain.is_empty() => Some("a symbol without a function"),
        _ => None,
    }
}
