//! `goodput fault serve`: the fault injector as a process with an API of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use goodput_fault_injector::{Injector, InjectorConfig, LeaseTerms, LoadTarget, Targets};

use crate::args::TokenArgs;
use crate::exit::{Exit, Failure};
use crate::{control, help, output, signals, values};

/// Arguments of `goodput fault serve`.
#[derive(Args, Debug)]
#[command(after_help = help::INJECTOR)]
pub(super) struct InjectorArgs {
    /// Where the injector's API listens
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    #[arg(default_value = "127.0.0.1:9903")]
    listen: SocketAddr,
    /// The control plane of a tier, with its name; repeat it for each tier, outermost first
    #[arg(long, env = "GOODPUT_CONTROL", value_name = "[NAME=]URL", value_delimiter = ',')]
    #[arg(value_parser = tier, default_value = "order-status=http://127.0.0.1:9901")]
    control: Vec<(String, String)>,
    /// The control plane of the load generator, for its levers
    #[arg(long, value_name = "URL", value_parser = values::url)]
    load_control: Option<String>,
    /// How long a fault stays without a renewal, in wall time
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(default_value = "10s")]
    lease: Duration,
    /// How often a lease is renewed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(default_value = "3s")]
    renew: Duration,
    #[command(flatten)]
    token: TokenArgs,
    /// A name in the `Host` of requests to take besides loopback's; repeat it for more
    #[arg(long, value_name = "NAME", value_parser = goodput_control::host_name)]
    control_host: Vec<String>,
    /// Append every command to this file
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// Runs until a signal, then ends every fault.
pub(super) fn run(args: &InjectorArgs) -> Result<Exit, Failure> {
    let signal = signals::first()?;
    let tiers = args.control.iter().map(|(name, url)| Ok((name.clone(), args.token.client(url)?)));
    let load = match &args.load_control {
        None => LoadTarget::None,
        Some(url) => LoadTarget::Control(args.token.client(url)?),
    };
    let injector = Injector::start(InjectorConfig {
        bind: args.listen,
        guard: args.token.guard(&args.control_host)?,
        targets: Targets::new(tiers.collect::<Result<_, Failure>>()?, load),
        terms: LeaseTerms::new(args.lease, args.renew)
            .map_err(|error| Failure::usage(format!("--lease, --renew: {error}")))?,
        audit: control::audit(args.audit.as_deref())?,
    });
    let injector = injector.map_err(Failure::usage)?;
    output::result(&format!("fault injector  http://{}", injector.addr()))?;
    signal.wait();
    output::note("stopping: faults are being reverted");
    let left = injector.shutdown();
    if left.is_empty() {
        return Ok(Exit::Held);
    }
    Err(Failure::clean_up(format!(
        "not confirmed to have ended: {}; their leases end them where the server lives",
        left.join(", ")
    )))
}

/// Reads `order-status=http://127.0.0.1:9901`, or a URL alone, which stands for `order-status`.
fn tier(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').filter(|(name, _)| !name.contains(':')) {
        None => Ok(("order-status".to_owned(), values::url(text)?)),
        Some(("", _)) => {
            Err(format!("`{text}` has no name; write such as gateway=http://127.0.0.1:9904"))
        }
        Some((name, url)) => Ok((name.to_owned(), values::url(url)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_has_a_name_or_is_the_order_status_server() {
        let url = "http://127.0.0.1:9901";
        assert_eq!(tier(url).unwrap(), ("order-status".to_owned(), url.to_owned()));
        let named = tier("gateway=http://127.0.0.1:9904").unwrap();
        assert_eq!(named, ("gateway".to_owned(), "http://127.0.0.1:9904".to_owned()));
        assert!(tier("=http://127.0.0.1:9904").is_err());
        assert!(tier("gateway=127.0.0.1:9904").unwrap_err().contains("scheme"));
    }
}
