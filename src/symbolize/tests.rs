use std::fmt::Write;

use super::demangle::demangle;

#[test]
fn names_are_made_readable() {
    let check = |name: &str, expected: &str| assert_eq!(demangle(name), expected);
    check("main", "main");
    check("_ZN3foo3barEi", "foo::bar(int)");
    check("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)");
    check(
        "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
        "core::fmt::Formatter::pad",
    );
    check("_RNvC6_123foo3bar", "123foo::bar");
    // What cannot be read stays as it is.
    check("_Z", "_Z");
    check("_ZN", "_ZN");
    check("_R", "_R");
    check("_ZN17h", "_ZN17h");
}

#[test]
fn a_name_that_would_grow_without_bounds_stays_short() {
    // Each template argument doubles the one before.
    let mut name = String::from("_Z1f1AIS_S_E");
    for index in 0..60 {
        write!(name, "IS{index}_S{index}_E").unwrap();
    }
    assert!(demangle(&name).len() <= 1 << 20);
}
