//! `goodput report`: a saved run, judged and drawn again.

use std::path::PathBuf;

use clap::Args;

use crate::args::ResultArgs;
use crate::exit::{Exit, Failure};
use crate::help;

/// Arguments of `goodput report`.
#[derive(Args, Debug)]
#[command(after_help = help::REPORT)]
pub(crate) struct ReportArgs {
    /// A run's folder, or its run log
    run: PathBuf,
    #[command(flatten)]
    results: ResultArgs,
}
