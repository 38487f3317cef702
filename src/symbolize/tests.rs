use std::fmt::Write;

use super::alias::{public, unversioned};
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

#[test]
fn functions_are_called_as_their_users_know_them() {
    let check = |name, symbol, expected| assert_eq!(public(name, symbol), expected);
    check("__GI___poll", Some("poll"), "poll");
    check("__GI___poll", Some("__poll"), "__poll");
    check("__GI_raise", None, "raise");
    // Another name at the place is no better than the function's own.
    check("__GI___clone", Some("fork.cold"), "__clone");
    check("__GI_", Some("poll"), "__GI_");
    check(
        "__libc_start_main_impl",
        Some("__libc_start_main"),
        "__libc_start_main_impl",
    );
    check("main", Some("_start"), "main");
}

#[test]
fn a_symbol_is_shown_without_its_version() {
    let check = |name: &[u8], expected: &[u8]| assert_eq!(unversioned(name), expected);
    check(b"poll@@GLIBC_2.2.5", b"poll");
    check(b"memcpy@GLIBC_2.14", b"memcpy");
    check(b"main", b"main");
    check(b"@odd", b"@odd");
}
