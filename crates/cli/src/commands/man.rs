//! `goodput man`: the manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};

use crate::args::Arguments;
use crate::exit::{Exit, Failure};
use crate::output;

/// Arguments of `goodput man`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  goodput man | man -l -\n  goodput man /usr/local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// The folder for one page a command [default: print the main page]
    dir: Option<PathBuf>,
}

/// Prints the main page, or writes all pages.
pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    // `help` has no page of its own; neither is one named.
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    match &args.dir {
        None => output::result(&render(command)?)?,
        Some(dir) => {
            fs::create_dir_all(dir).map_err(|error| cannot_write(dir, &error))?;
            write_pages(command, "goodput", dir)?;
        }
    }
    Ok(Exit::Held)
}

fn write_pages(command: clap::Command, name: &str, dir: &Path) -> Result<(), Failure> {
    for inner in command.get_subcommands() {
        write_pages(inner.clone(), &format!("{name}-{}", inner.get_name()), dir)?;
    }
    let path = dir.join(format!("{name}.1"));
    let page = render(command)?;
    fs::write(&path, page).map_err(|error| cannot_write(&path, &error))?;
    output::note(path.display());
    Ok(())
}

fn render(command: clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(Failure::usage)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", path.display()))
}
