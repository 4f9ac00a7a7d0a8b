//! Documents generated from the code.

use std::path::Path;

use crate::{
    Finding, conformance, events, files, refusals, routes,
    schema::{self, Schema},
    security, settings, trail,
};

struct Document {
    path: &'static str,
    text: String,
}

fn documents(root: &Path, schema: &Schema) -> Vec<Document> {
    let generated = [
        ("docs/settings.md", settings::document()),
        ("docs/routes.md", routes::document(&routes::served())),
        ("docs/schema.md", schema::document(schema)),
        ("docs/events.md", events::document()),
        ("docs/audit-trail.md", trail::document()),
        ("docs/refusals.md", refusals::document()),
        ("docs/conformance.md", conformance::document(root)),
        ("docs/security/paths.md", security::paths::document()),
        ("docs/security/sessions.md", security::sessions::document()),
        ("docs/security/throttling.md", security::throttling::document()),
    ];
    let marked = |text| format!("<!-- Written by `cargo xtask generate`. Do not edit. -->\n\n{text}");
    let mut all: Vec<Document> =
        generated.into_iter().map(|(path, text)| Document { path, text: marked(text) }).collect();
    all.push(Document { path: "docs/openapi.json", text: openapi() });
    all
}

/// As served at `GET /v1/openapi.json`.
fn openapi() -> String {
    let document = porteiro_service::api::openapi::document(&porteiro_service::table());
    format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default())
}

pub fn write(root: &Path) -> anyhow::Result<()> {
    for Document { path, text } in documents(root, &schema::of_migrations()?) {
        std::fs::write(root.join(path), text).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    }
    Ok(())
}

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    Ok(stale(root, &schema::of_migrations()?))
}

/// Documents that differ from what would be generated now.
pub fn stale(root: &Path, schema: &Schema) -> Vec<Finding> {
    documents(root, schema).iter().filter_map(|document| document.differs(root)).collect()
}

impl Document {
    fn differs(&self, root: &Path) -> Option<Finding> {
        let there = files::read(root, self.path).unwrap_or_default();
        let pairs = there.lines().map(Some).chain([None]).zip(self.text.lines().map(Some).chain([None]));
        let line = pairs.take_while(|(left, right)| left == right).count() + 1;
        (there != self.text).then(|| {
            Finding::new(
                self.path,
                line,
                "is not what the code says; run: cargo xtask generate, and commit it",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::{plant, tree};

    #[test]
    fn a_document_that_differs_is_found_at_its_line() {
        let document = Document { path: "docs/routes.md", text: "a\nb\nc\n".into() };
        let root = tree(&[(document.path, "a\nx\nc\n")]);
        let found = document.differs(root.path()).unwrap().to_string();
        assert!(found.starts_with("docs/routes.md:2: is not what the code says; run: cargo xtask generate"));
        plant(root.path(), document.path, "a\nb\nc\nd\n");
        assert_eq!(document.differs(root.path()).unwrap().line, 4);
        plant(root.path(), document.path, &document.text);
        assert_eq!(document.differs(root.path()), None);
        std::fs::remove_file(root.path().join(document.path)).unwrap();
        assert!(document.differs(root.path()).is_some());
    }

    #[test]
    fn missing_documents_are_stale() {
        assert_eq!(stale(tree(&[]).path(), &Schema::default()).len(), 11);
    }
}
