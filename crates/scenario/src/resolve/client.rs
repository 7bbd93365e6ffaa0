use std::time::Duration;

use goodput_clock::Rate;
use goodput_policy::lever::Lever;
use goodput_policy::retry::{LayerConfig, MAX_RETRIES};

use super::{check_length, check_name, check_run, check_unique};
use crate::model::{Client, Scenario, max_attempts};
use crate::parse::{LayerTimeout, Path, Reader, default_layer_name, written};

/// Resolves `[client]`, but for the limits of its connections, which hang on the whole scenario.
pub(super) fn resolve(reader: &mut Reader<'_, '_>, run: Option<Duration>) -> Option<Client> {
    let path = Path::root().key("client");
    let client: written::Client = reader.section(&path, &["layer"]);
    let clients = reader.whole(&path.key("clients"), client.clients, 1..=10_000, 1);
    check_length(reader, &path.key("deadline"), client.deadline, run);
    let layers = resolve_layers(reader, &path.key("layer"), run)?;
    if layers.is_empty() {
        let message = "there is no layer; the client needs at least one, with a time-out";
        reader.problem(&path.key("layer"), message);
        return None;
    }
    Some(Client {
        clients,
        protocol: client.protocol.unwrap_or_default(),
        deadline: client.deadline,
        layers,
        pool: client.pool.unwrap_or_default(),
        max_connections: 1,
        connect_rate: client.connect_rate.or_else(|| Rate::new(1.0).ok())?,
    })
}

/// Sets the limits of the client's connections: as written, or with room for the worst that the
/// scenario can ask.
pub(super) fn resolve_limits(reader: &mut Reader<'_, '_>, scenario: &mut Scenario) {
    let path = Path::root().key("client");
    let client: written::Client = reader.section(&path, &["layer"]);
    let peak = scenario.peak_rate().per_second();
    let (connections, connect_rate) = scenario.room_for(peak, most_attempts(scenario));
    let key = path.key("max_connections");
    let range = 1..=Client::MOST_CONNECTIONS;
    scenario.client.max_connections =
        reader.whole(&key, client.max_connections, range, connections);
    scenario.client.connect_rate = client.connect_rate.unwrap_or(connect_rate);
}

/// The most attempts that a request can make, whichever levers are pulled.
fn most_attempts(scenario: &Scenario) -> f64 {
    let layers = scenario.client.layers.iter();
    layers
        .map(|config| {
            let levers = scenario.levers.iter().filter_map(|planned| {
                let Lever::Retries { layer, retries } = &planned.lever else { return None };
                layer.as_ref().is_none_or(|name| *name == config.name).then_some(*retries)
            });
            f64::from(levers.fold(config.retries, u32::max)) + 1.0
        })
        .product()
}

/// Resolves the layers of the client or of a gateway.
pub(super) fn resolve_layers(
    reader: &mut Reader<'_, '_>,
    list: &Path,
    run: Option<Duration>,
) -> Option<Vec<LayerConfig>> {
    let written = reader.list::<written::Layer>(list, &[]);
    let count = written.len();
    if count > MOST_LAYERS {
        reader.problem(list, format!("there are {count} layers, but at most {MOST_LAYERS} nest"));
        return None;
    }
    let paths: Vec<_> = written.iter().map(|(path, _)| path.clone()).collect();
    let layers: Vec<_> = written
        .into_iter()
        .enumerate()
        .map(|(index, (path, layer))| {
            let default = default_layer_name(index, count, list);
            resolve_layer(reader, &path, layer, default, index + 1 == count, run)
        })
        .collect();
    check_unique(reader, paths.iter().zip(&layers).map(|(path, layer)| (path, &*layer.name)));
    let attempts = max_attempts(&layers);
    if attempts > MOST_ATTEMPTS {
        reader.problem(
            list,
            format!("make {attempts} attempts of one request, but at most {MOST_ATTEMPTS} can be"),
        );
    }
    Some(layers)
}

fn resolve_layer(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    layer: written::Layer,
    default_name: String,
    innermost: bool,
    run: Option<Duration>,
) -> LayerConfig {
    let name = layer.name.unwrap_or(default_name);
    check_name(reader, &path.key("name"), &name);
    let at = path.key("timeout");
    let timeout = match layer.timeout {
        Some(LayerTimeout::After(timeout)) => Some(timeout),
        Some(LayerTimeout::Off) if innermost => {
            reader.problem(&at, "cannot be \"off\" at the innermost layer");
            None
        }
        None if innermost && !reader.has(&at) => {
            reader.problem(&at, "is missing; the innermost layer must have one");
            None
        }
        Some(LayerTimeout::Off) | None => None,
    };
    check_run(reader, &at, timeout, run);
    let layer = LayerConfig {
        name,
        timeout,
        retries: reader.whole(&path.key("retries"), layer.retries, 0..=MAX_RETRIES, 0),
        backoff: layer.backoff.unwrap_or_default(),
        retry_on: layer
            .retry_on
            .map_or_else(Default::default, |classes| classes.into_iter().collect()),
        budget: layer.budget.unwrap_or_default(),
        budget_scope: layer.budget_scope.unwrap_or_default(),
    };
    if let Err(invalid) = layer.validate() {
        reader.invalid(path, invalid);
    }
    layer
}

const MOST_LAYERS: usize = 8;
const MOST_ATTEMPTS: u64 = 100_000;
