//! `porteiro config`

use std::collections::BTreeMap;

use porteiro_service::settings::{self, Mode, Settings};

use crate::{cli::Config, exit::Failure, say};

pub fn run(settings: Settings, sources: &BTreeMap<String, String>, action: &Config) -> Result<(), Failure> {
    match action {
        Config::Schema => {
            say::out(&serde_json::to_string_pretty(&settings::schema()).unwrap_or_default());
            Ok(())
        }
        Config::Check { dev } => {
            check(settings, sources, if *dev { Mode::Development } else { Mode::Production })
        }
    }
}

fn check(settings: Settings, sources: &BTreeMap<String, String>, mode: Mode) -> Result<(), Failure> {
    for (name, source) in sources {
        say::out(&format!("{name:28} from {source}"));
    }
    match settings.for_mode(mode).check(mode) {
        Ok(checked) => {
            say::out(&format!("the settings are valid; the issuer is {}", checked.issuer));
            Ok(())
        }
        Err(findings) => {
            for finding in &findings {
                say::err(&finding.to_string());
            }
            Err(Failure::refusal(format!("invalid settings: {}", findings.len())))
        }
    }
}
