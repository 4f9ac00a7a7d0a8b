//! The catalogues, read once when the screens are mounted.

use std::sync::Arc;

use fluent_bundle::{FluentResource, concurrent::FluentBundle};
use unic_langid::LanguageIdentifier;

use super::{Language, Words};

pub(super) type Bundle = FluentBundle<FluentResource>;

pub(super) const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../../locales/en.ftl"),
        Language::Portuguese => include_str!("../../locales/pt.ftl"),
    }
}

pub struct Catalogues {
    english: Arc<Bundle>,
    portuguese: Arc<Bundle>,
}

impl std::fmt::Debug for Catalogues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<catalogues>")
    }
}

impl Catalogues {
    pub fn read() -> Self {
        Self {
            english: Arc::new(bundle(Language::English)),
            portuguese: Arc::new(bundle(Language::Portuguese)),
        }
    }

    pub fn words(&self, language: Language) -> Words {
        let bundle = match language {
            Language::English => &self.english,
            Language::Portuguese => &self.portuguese,
        };
        Words { language, bundle: Arc::clone(bundle) }
    }
}

/// A message that cannot be read is left out; the tests find it.
fn bundle(language: Language) -> Bundle {
    let identifier = LanguageIdentifier::from_bytes(language.html().as_bytes()).unwrap_or_default();
    let mut bundle = Bundle::new_concurrent(vec![identifier]);
    // Both languages run the same way; the marks would only get in the way of copying an address.
    bundle.set_use_isolating(false);
    let resource = match FluentResource::try_new(source(language).to_owned()) {
        Ok(resource) | Err((resource, _)) => resource,
    };
    bundle.add_resource_overriding(resource);
    bundle
}
