//! Each mistake is refused with its file, line, key and a valid example.

mod case;
mod structure;
mod values;
