//! The settings, as described by their schema.

use super::Settings;

/// One row of the settings reference.
#[derive(Debug)]
pub struct Described {
    pub name: String,
    pub environment: String,
    pub kind: Kind,
    pub default: serde_json::Value,
    pub description: String,
}

/// The type of a value; it decides how the text of an environment variable is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    List,
}

/// The JSON Schema of the settings file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Settings).into()
}

/// All settings in the order of their definition, read from the schema.
pub fn described() -> Vec<Described> {
    let schema = schema();
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let definitions = &schema["$defs"];
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    properties
        .iter()
        .map(|(name, property)| {
            let choices = property["$ref"]
                .as_str()
                .and_then(|reference| reference.rsplit('/').next())
                .map(|definition| choices(&definitions[definition]))
                .unwrap_or_default();
            let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            Described {
                name: name.clone(),
                environment: format!("PORTEIRO_{}", name.to_uppercase()),
                kind: kind(property),
                default: defaults[name].clone(),
                description: [text, choices]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(" "),
            }
        })
        .collect()
}

fn kind(property: &serde_json::Value) -> Kind {
    let named = |name: &str| {
        property["type"] == name
            || property["type"].as_array().is_some_and(|types| types.iter().any(|one| one == name))
    };
    if named("array") {
        Kind::List
    } else if named("boolean") {
        Kind::Boolean
    } else if named("integer") || named("number") {
        Kind::Number
    } else {
        Kind::Text
    }
}

/// `name`: meaning, for each value of an enumeration.
fn choices(definition: &serde_json::Value) -> String {
    let described = definition["oneOf"].as_array().into_iter().flatten().map(|choice| {
        let meaning = choice["description"].as_str().unwrap_or_default().trim_end_matches('.');
        format!("`{}`: {}.", choice["const"].as_str().unwrap_or_default(), meaning)
    });
    described.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_described() {
        let all = described();
        assert!(all.len() > 20);
        for one in all {
            assert!(one.description.len() > 20, "{} says too little about itself", one.name);
        }
    }
}
