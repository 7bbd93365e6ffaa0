//! `goodput completions`: what a shell needs to complete the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::exit::{Exit, Failure};
use crate::output;

/// Arguments of `goodput completions`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  goodput completions bash > /etc/bash_completion.d/goodput\n  \
                        goodput completions zsh > ~/.zfunc/_goodput"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "goodput", &mut text);
    output::result(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Held)
}
