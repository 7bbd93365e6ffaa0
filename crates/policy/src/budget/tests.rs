use super::config::FIFTH;
use super::*;

fn parse(text: &str) -> Result<BudgetConfig, String> {
    #[derive(serde::Deserialize)]
    struct Holder {
        budget: BudgetConfig,
    }
    toml::from_str::<Holder>(&format!("budget = {text}"))
        .map(|holder| holder.budget)
        .map_err(|error| error.to_string())
}

#[test]
fn a_name_stands_for_the_defaults_of_its_rule() {
    for name in BudgetConfig::NAMES {
        let named = parse(&format!("\"{name}\"")).unwrap();
        let table = parse(&format!("{{ kind = \"{name}\" }}")).unwrap();
        assert_eq!(named, table);
        assert_eq!(named.name(), name);
        assert_eq!(named.validate(), Ok(()));
    }
}

#[test]
fn absent_keys_take_their_defaults() {
    let budget = parse("{ kind = \"finagle\", credit = \"success\", ratio = \"10%\" }").unwrap();
    let BudgetConfig::Finagle(finagle) = budget else { panic!("{budget:?}") };
    assert_eq!(finagle.credit, Credit::Success);
    assert_eq!(finagle.ratio.get().to_bits(), 0.1_f64.to_bits());
    assert_eq!(Finagle { credit: Credit::Request, ratio: FIFTH, ..finagle }, Finagle::default());
}

#[test]
fn what_is_refused_names_the_key_and_shows_a_valid_example() {
    for (text, key) in [
        ("\"sre\"", "sre"),
        ("7", "7"),
        ("{ ratio = 0.1 }", "kind"),
        ("{ kind = \"sre\" }", "sre"),
        ("{ kind = \"off\", ratio = 0.1 }", "ratio"),
        ("{ kind = \"sre-ratio\", raito = 0.1 }", "raito"),
        ("{ kind = \"sre-ratio\", ratio = 1.5 }", "1.5"),
        ("{ kind = \"sre-ratio\", window = 10 }", "10"),
        ("{ kind = \"sre-ratio\", window = \"1h\" }", "window"),
        ("{ kind = \"finagle\", min_per_second = -1.0 }", "min_per_second"),
        ("{ kind = \"finagle\", min_per_second = nan }", "min_per_second"),
        ("{ kind = \"finagle\", window = \"0s\" }", "window"),
        ("{ kind = \"token-bucket\", max = 0 }", "max"),
        ("{ kind = \"token-bucket\", max = -1 }", "-1"),
        ("{ kind = \"grpc-throttle\", max_tokens = 1001 }", "max_tokens"),
        ("{ kind = \"grpc-throttle\", token_ratio = 0 }", "token_ratio"),
        ("{ kind = \"aws-quota\", capacity = 0 }", "capacity"),
        ("{ kind = \"aws-quota\", cost = 501 }", "cost"),
        ("{ kind = \"aws-quota\", timeout_cost = 0 }", "timeout_cost"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(key), "{text}: {error}");
        assert!(error.contains("{ kind = \"sre-ratio\", ratio = 0.1"), "{text}: {error}");
    }
}

#[test]
fn what_is_written_reads_back() {
    for name in BudgetConfig::NAMES {
        let config: BudgetConfig = name.parse().unwrap();
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<BudgetConfig>(&json).unwrap(), config, "{json}");
    }
}
