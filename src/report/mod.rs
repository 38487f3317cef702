//! A recording to text for the terminal.
