//! All checks. A new check is a file in this folder and a line here.

use std::path::Path;

use porteiro_service::store::migrations::MIGRATIONS;

use crate::{
    Finding, asvs, conformance, cves, decisions, dependencies, floors, generate, hygiene, layers, links,
    migrations, references, report, rfc9700, routes, schema, standards,
};

pub fn run(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let served = routes::served();
    let named: Vec<&str> = served.iter().filter_map(|route| route.standard).collect();
    let mut findings = [
        layers::check(root)?,
        floors::check(root)?,
        dependencies::check(root)?,
        standards::check(root, &named)?,
        routes::check(root, &served)?,
        routes::undocumented(&served),
        migrations::check(root, MIGRATIONS, migrations::RELEASED)?,
        hygiene::check(root)?,
        decisions::check(root)?,
        links::check(root)?,
        references::check(root)?,
        asvs::check(root)?,
        cves::check(root),
        rfc9700::check(root),
        conformance::check(root)?,
    ]
    .concat();
    match schema::of_migrations() {
        Ok(schema) => {
            findings.extend(schema::check(root, &schema, schema::HOT)?);
            findings.extend(generate::stale(root, &schema));
        }
        // Reports the findings of the checks that need no database.
        Err(error) => {
            report(&findings);
            return Err(error);
        }
    }
    Ok(findings)
}
