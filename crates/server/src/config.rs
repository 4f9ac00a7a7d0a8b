//! Layers: defaults, then the file, then the environment, then flags. Each value keeps its source, so that an error can
//! name it.

use std::{collections::BTreeMap, path::Path};

use porteiro_service::settings::{Described, Kind, Settings, described};
use serde_json::{Map, Value};

const PREFIX: &str = "PORTEIRO_";
/// Not settings: variables for tests, scripts and `porteiro admin`, and those that Kubernetes sets for a service named
/// `porteiro`.
const FOREIGN: &[&str] = &["API_KEY", "CONFIG", "TEST_", "PORT", "SERVICE_"];
/// Read if no file is named and this one exists.
pub const DEFAULT_FILE: &str = "/etc/porteiro/porteiro.toml";

#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// The source of each value that is not a default.
    pub sources: BTreeMap<String, String>,
}

struct Layers {
    known: Vec<Described>,
    values: Map<String, Value>,
    sources: BTreeMap<String, String>,
}

/// # Errors
/// One line: what is wrong, where, and what was probably meant.
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: &[(String, String)],
) -> Result<Loaded, String> {
    let mut layers = Layers { known: described(), values: Map::new(), sources: BTreeMap::new() };
    let default = Path::new(DEFAULT_FILE);
    if let Some(file) = file.or_else(|| default.exists().then_some(default)) {
        layers.add_file(file)?;
    }
    layers.add_environment(environment)?;
    for (name, value) in flags {
        layers.add_text(name, value, format!("--{}", name.replace('_', "-")))?;
    }
    layers.finish()
}

impl Layers {
    fn add_file(&mut self, file: &Path) -> Result<(), String> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            format!("{name}, line {line}: {}", error.message())
        })?;
        for (key, value) in table {
            self.known(&key).map_err(|unknown| format!("{name}: {unknown}"))?;
            let value = serde_json::to_value(value).map_err(|error| format!("{name}: {key}: {error}"))?;
            self.set(&key, value, name.clone())?;
        }
        Ok(())
    }

    fn add_environment(&mut self, environment: impl Iterator<Item = (String, String)>) -> Result<(), String> {
        let ours =
            environment.filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_owned(), value)));
        for (name, value) in ours.filter(|(name, _)| !FOREIGN.iter().any(|foreign| name.starts_with(foreign)))
        {
            let key = name.to_lowercase();
            let variable = format!("{PREFIX}{name}");
            self.known(&key).map_err(|unknown| format!("environment, {variable}: {unknown}"))?;
            self.add_text(&key, &value, variable)?;
        }
        Ok(())
    }

    fn known(&self, key: &str) -> Result<&Described, String> {
        if let Some(setting) = self.known.iter().find(|setting| setting.name == key) {
            return Ok(setting);
        }
        let nearest = self
            .known
            .iter()
            .map(|setting| (strsim::jaro_winkler(key, &setting.name), &setting.name))
            .max_by(|left, right| left.0.total_cmp(&right.0));
        Err(match nearest {
            Some((likeness, name)) if likeness > 0.75 => {
                format!("unknown setting '{key}'; did you mean '{name}'?")
            }
            _ => format!("unknown setting '{key}'; docs/settings.md lists all settings"),
        })
    }

    /// Converts text from the environment or a flag to the type of its setting.
    fn add_text(&mut self, key: &str, text: &str, source: String) -> Result<(), String> {
        let kind = self.known(key).map_err(|unknown| format!("{source}: {unknown}"))?.kind;
        let value = match kind {
            Kind::Text => Value::String(text.to_owned()),
            Kind::Number => {
                text.parse::<u64>().map(Value::from).map_err(|_| format!("{source}: is not a number"))?
            }
            Kind::Boolean => text
                .parse::<bool>()
                .map(Value::from)
                .map_err(|_| format!("{source}: is not true or false"))?,
            Kind::List => text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect(),
        };
        self.set(key, value, source)
    }

    fn set(&mut self, key: &str, value: Value, source: String) -> Result<(), String> {
        // Parsed alone, so that the error is about this setting only. It never quotes the value.
        let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
        if serde_json::from_value::<Settings>(alone).is_err() {
            let hint = self.known(key).map(|setting| setting.description.clone()).unwrap_or_default();
            return Err(format!("{source}: {key} has an invalid value. {hint}"));
        }
        self.values.insert(key.to_owned(), value);
        self.sources.insert(key.to_owned(), source);
        Ok(())
    }

    fn finish(self) -> Result<Loaded, String> {
        let settings =
            serde_json::from_value(Value::Object(self.values)).map_err(|error| error.to_string())?;
        Ok(Loaded { settings, sources: self.sources })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn flags_win_over_the_environment_and_the_environment_over_the_file() {
        let file = file("base_url = \"https://file\"\ndatabase_pool_size = 3\nscreens = false\n");
        let loaded = load(
            Some(file.path()),
            environment(&[
                ("PORTEIRO_BASE_URL", "https://environment"),
                ("PORTEIRO_DATABASE_POOL_SIZE", "4"),
                ("PORTEIRO_TRUSTED_PROXIES", "10.0.0.0/8, ::1/128"),
                ("PORTEIRO_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
                ("OTHER", "x"),
            ]),
            &[("base_url".into(), "https://flag".into())],
        )
        .unwrap();
        assert_eq!(loaded.settings.base_url, "https://flag");
        assert_eq!(loaded.settings.database_pool_size, 4);
        assert!(!loaded.settings.screens);
        assert_eq!(loaded.settings.trusted_proxies.len(), 2);
        assert_eq!(loaded.sources["base_url"], "--base-url");
        assert_eq!(loaded.sources["database_pool_size"], "PORTEIRO_DATABASE_POOL_SIZE");
    }

    #[test]
    fn a_typing_error_is_answered_with_what_was_meant() {
        let misspelt = file("databse_url = \"postgres://localhost\"\n");
        let error = load(Some(misspelt.path()), environment(&[]), &[]).unwrap_err();
        assert!(error.ends_with("unknown setting 'databse_url'; did you mean 'database_url'?"), "{error}");
        let error = load(None, environment(&[("PORTEIRO_BASEURL", "x")]), &[]).unwrap_err();
        assert!(error.contains("PORTEIRO_BASEURL") && error.contains("did you mean 'base_url'?"), "{error}");
        let broken = file("a = 1\nb = \n");
        assert!(load(Some(broken.path()), environment(&[]), &[]).unwrap_err().contains("line 2"));
    }

    #[test]
    fn a_wrong_value_is_named_and_never_quoted() {
        for (name, value) in [
            ("PORTEIRO_LISTEN", "s3cret"),
            ("PORTEIRO_REGISTRATION", "s3cret"),
            ("PORTEIRO_DATABASE_POOL_SIZE", "s3cret"),
            ("PORTEIRO_SCREENS", "s3cret"),
            ("PORTEIRO_TRUSTED_PROXIES", "s3cret"),
        ] {
            let error = load(None, environment(&[(name, value)]), &[]).unwrap_err();
            assert!(error.starts_with(name) && !error.contains("s3cret"), "{error}");
        }
    }
}
