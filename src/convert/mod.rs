//! A recording to the formats of other viewers, one file each.
