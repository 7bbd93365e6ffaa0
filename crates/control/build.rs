//! Tells the crate which compiler builds which revision, for `rig_build_info`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GOODPUT_REVISION");
    let version = std::env::var_os("RUSTC")
        .and_then(|rustc| Command::new(rustc).arg("--version").output().ok())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let version = version.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
    println!("cargo::rustc-env=GOODPUT_RUSTC={version}");
    let revision = std::env::var("GOODPUT_REVISION").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=GOODPUT_REVISION={revision}");
}
