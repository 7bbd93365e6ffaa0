//! `goodput healthcheck`: whether a control plane is alive.

use clap::Args;

use goodput_control::ControlClient;

use crate::exit::{Exit, Failure};
use crate::{control, output, values};

/// Arguments of `goodput healthcheck`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  goodput healthcheck\n  \
                        goodput healthcheck --control http://127.0.0.1:9902\n\n\
                        Exit codes:\n  0  alive\n  1  not alive\n  2  the command is wrong")]
pub(crate) struct HealthcheckArgs {
    /// The control plane
    #[arg(long, env = "GOODPUT_CONTROL", value_name = "URL", value_parser = values::url)]
    #[arg(default_value = "http://127.0.0.1:9901")]
    control: String,
    /// How long to wait for an answer
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(default_value = "2s")]
    timeout: std::time::Duration,
}

/// Asks once.
pub(crate) fn run(args: &HealthcheckArgs) -> Result<Exit, Failure> {
    let client = ControlClient::new(&args.control, None).map_err(Failure::usage)?;
    let answer = control::runtime()?.block_on(client.with_timeout(args.timeout).healthz());
    match answer {
        Ok(()) => {
            output::result("alive")?;
            Ok(Exit::Held)
        }
        Err(error) => {
            output::error(error);
            Ok(Exit::NotHeld)
        }
    }
}
