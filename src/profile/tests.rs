use super::*;

#[test]
fn a_stack_is_read_back_leaf_first() {
    let mut table = StackTable::default();
    let frame = |address| Frame::Unmapped {
        address: Address(address),
    };
    let leaf = table.intern_all([frame(1), frame(2), frame(3)]);
    assert_eq!(
        table.frames(leaf).collect::<Vec<_>>(),
        [frame(3), frame(2), frame(1)]
    );
    assert_eq!(table.intern_all([frame(1), frame(2), frame(3)]), leaf);
    assert_eq!(table.len(), 3);
}

#[test]
fn an_event_about_nothing_known_is_refused() {
    let mut profile = Profile::default();
    let lost = Event::ThreadEnded {
        thread: ThreadId(4),
        time: Timestamp(1),
    };
    assert!(!profile.apply(lost));
    assert_eq!(profile, Profile::default());
}
