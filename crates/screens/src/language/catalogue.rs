//! The catalogues, read once at start.

use std::sync::Arc;

use fluent_bundle::{FluentResource, concurrent::FluentBundle};
use unic_langid::LanguageIdentifier;

use super::{Language, Words, pseudo};

pub(super) type Bundle = FluentBundle<FluentResource>;

pub(super) const fn source(language: Language) -> &'static str {
    match language {
        Language::English | Language::Long | Language::Mirrored => include_str!("../../locales/en.ftl"),
        Language::Portuguese => include_str!("../../locales/pt.ftl"),
    }
}

pub struct Catalogues {
    english: Arc<Bundle>,
    portuguese: Arc<Bundle>,
    /// For development only.
    pseudo: Option<Pseudo>,
}

struct Pseudo {
    long: Arc<Bundle>,
    mirrored: Arc<Bundle>,
}

impl std::fmt::Debug for Catalogues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<catalogues>")
    }
}

impl Catalogues {
    /// `pseudo`: the two pseudo-languages as well.
    pub fn read(pseudo: bool) -> Self {
        let read = |language| Arc::new(bundle(language));
        Self {
            english: read(Language::English),
            portuguese: read(Language::Portuguese),
            pseudo: pseudo.then(|| Pseudo { long: read(Language::Long), mirrored: read(Language::Mirrored) }),
        }
    }

    /// English in place of a language without a catalogue.
    pub fn words(&self, language: Language) -> Words {
        let (language, bundle) = match (language, &self.pseudo) {
            (Language::Portuguese, _) => (language, &self.portuguese),
            (Language::Long, Some(pseudo)) => (language, &pseudo.long),
            (Language::Mirrored, Some(pseudo)) => (language, &pseudo.mirrored),
            (Language::English | Language::Long | Language::Mirrored, _) => {
                (Language::English, &self.english)
            }
        };
        Words { language, bundle: Arc::clone(bundle) }
    }
}

/// An unreadable message is skipped; the build would have failed before.
fn bundle(language: Language) -> Bundle {
    let identifier = LanguageIdentifier::from_bytes(language.html().as_bytes()).unwrap_or_default();
    let mut bundle = Bundle::new_concurrent(vec![identifier]);
    // In a left-to-right language the isolation marks would only disturb copying an address.
    bundle.set_use_isolating(language.dir() == "rtl");
    bundle.set_transform(pseudo::transform(language));
    let resource = match FluentResource::try_new(source(language).to_owned()) {
        Ok(resource) | Err((resource, _)) => resource,
    };
    bundle.add_resource_overriding(resource);
    bundle
}
