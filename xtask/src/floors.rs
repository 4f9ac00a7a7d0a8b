//! Which feature folder (room) may import which: a room imports only rooms before it in this list, so that there are no
//! cycles. A room is a folder or file of a crate's `src`, or of `oauth` in the service.

use std::path::Path;

use crate::{
    Finding,
    files::{self, is_rust},
    imports::{self, Import},
    source::Source,
};

struct House {
    folder: &'static str,
    /// From the lowest floor up.
    floors: &'static [Floor],
    /// Rooms outside the floors that all may import, each with the reason.
    open: &'static [(&'static str, &'static str)],
    /// Rooms above all floors, which put the others together.
    top: &'static [&'static str],
    /// Upward imports that are allowed: from, to, and why.
    exceptions: &'static [(&'static str, &'static str, &'static str)],
}

struct Floor {
    name: &'static str,
    rooms: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        folder: "crates/base/src",
        floors: &[Floor {
            name: "base",
            rooms: &[
                "settings", "store", "secrets", "jobs", "limits", "dns", "fetch", "mail", "sms", "http",
                "api",
            ],
        }],
        open: &[("node", "the state every part of a node is handed")],
        top: &["lib"],
        exceptions: &[],
    },
    House {
        folder: "crates/service/src",
        floors: &[
            Floor { name: "records", rooms: &["security_log", "audit_trail", "permissions", "refusals"] },
            Floor {
                name: "people",
                rooms: &[
                    "oauth/verifying",
                    "accounts",
                    "sessions",
                    "connections",
                    "credentials",
                    "bootstrap",
                ],
            },
            Floor {
                name: "registry",
                rooms: &[
                    "oauth/keys",
                    "oauth/scopes",
                    "oauth/grant_types",
                    "oauth/clients",
                    "oauth/apis",
                    "oauth/directory",
                ],
            },
            Floor {
                name: "tenants",
                rooms: &[
                    "organizations",
                    "endings",
                    "members",
                    "roles",
                    "groups",
                    "client_policies",
                    "trusts",
                    "domains",
                    "branding",
                    "invitations",
                    "directories",
                    "platform",
                    "api_keys",
                ],
            },
            Floor {
                name: "tokens",
                rooms: &[
                    "oauth/acting",
                    "oauth/grants",
                    "oauth/details",
                    "oauth/authority",
                    "oauth/delegations",
                    "oauth/binding",
                    "oauth/client_auth",
                    "oauth/token_request",
                    "oauth/minting",
                    "impersonation",
                    "oauth/access_token",
                ],
            },
            Floor { name: "flow", rooms: &["flow"] },
            Floor {
                name: "doors",
                rooms: &[
                    "federation",
                    "organization_sign_in",
                    "oauth/registration",
                    "oauth/client_documents",
                    "oauth/authorization",
                    "oauth/pushed_authorization",
                    "oauth/challenge",
                    "oauth/redeem",
                    "oauth/code_grant",
                    "oauth/refresh",
                    "oauth/client_credentials",
                    "oauth/id_jag",
                    "oauth/exchange",
                    "oauth/jwt_bearer",
                    "web_push",
                    "approvals",
                    "oauth/ciba",
                    "oauth/logout",
                    "oauth/device",
                    "oauth/key_credentials",
                    "oauth/token",
                    "oauth/discovery",
                    "oauth/userinfo",
                    "oauth/introspection",
                    "oauth/revocation",
                    "health",
                ],
            },
            Floor { name: "APIs", rooms: &["management", "scim", "personal_data", "account_api"] },
        ],
        open: &[
            ("http", "names porteiro-base's HTTP with routes for this application"),
            ("state", "the state every handler is handed; features only keep their part in it"),
        ],
        top: &["lib", "oauth/mod", "registers"],
        exceptions: &[],
    },
];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for house in HOUSES {
        findings.extend(house.check(root)?);
    }
    Ok(findings)
}

impl House {
    fn check(&self, root: &Path) -> anyhow::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for path in files::under(root, self.folder)? {
            let Some(file) = path.strip_prefix(self.folder).map(|file| file.trim_start_matches('/')) else {
                continue;
            };
            let tests = file.ends_with("tests.rs") || file.contains("/tests/");
            if !is_rust(&path) || tests || self.top.contains(&file.trim_end_matches(".rs")) {
                continue;
            }
            let module = imports::module_of(file);
            let Some(from) = self.room(&module) else {
                findings.push(Finding::new(
                    &path,
                    1,
                    "is on no floor; give it a place in xtask/src/floors.rs",
                ));
                continue;
            };
            // An open room may import what it contains.
            if self.is_open(from) {
                continue;
            }
            let source = Source::parse(&files::read(root, &path)?).without_tests();
            let named = imports::of(&module, &source);
            findings.extend(named.iter().filter_map(|import| self.upward(&path, from, import)));
        }
        findings.sort();
        findings.dedup();
        Ok(findings)
    }

    fn upward(&self, path: &str, from: &'static str, import: &Import) -> Option<Finding> {
        let to = self.room(&import.path)?;
        let excepted = self.exceptions.iter().any(|(a, b, _why)| (*a, *b) == (from, to));
        if from == to || self.is_open(to) || excepted || self.place(to) < self.place(from) {
            return None;
        }
        let what =
            format!("{from} ({}) imports {to} ({}), which stands above it", self.floor(from), self.floor(to));
        Some(Finding::new(path, import.line, what))
    }

    fn is_open(&self, room: &str) -> bool {
        self.open.iter().any(|(name, _why)| *name == room)
    }

    /// The room of a path: the longest match.
    fn room(&self, path: &[String]) -> Option<&'static str> {
        let beside = self.open.iter().map(|(name, _why)| *name).chain(self.top.iter().copied());
        let names = self.rooms().chain(beside);
        let fits = |room: &&str| {
            let mut parts = room.split('/');
            let mut path = path.iter();
            parts.all(|part| path.next().is_some_and(|name| name == part))
        };
        names.filter(fits).max_by_key(|room| room.len())
    }

    fn rooms(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.floors.iter().flat_map(|floor| floor.rooms.iter().copied())
    }

    /// Open and top rooms are above everything they import.
    fn place(&self, room: &str) -> usize {
        self.rooms().position(|name| name == room).unwrap_or(usize::MAX)
    }

    fn floor(&self, room: &str) -> &'static str {
        self.floors
            .iter()
            .find(|floor| floor.rooms.contains(&room))
            .map_or("beside the floors", |floor| floor.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    const PLANTED: House = House {
        folder: "crates/planted/src",
        floors: &[
            Floor { name: "records", rooms: &["log", "trail"] },
            Floor { name: "doors", rooms: &["oauth/keys", "oauth/token"] },
        ],
        open: &[("state", "everybody is handed one")],
        top: &["lib", "registers"],
        exceptions: &[("log", "oauth/keys", "to be cut")],
    };

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let root = tree(files);
        PLANTED.check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_upward_import_is_found() {
        let text = "//! L.\nuse crate::{state::App, trail::Entry};\n";
        assert_eq!(
            found(&[("crates/planted/src/log/mod.rs", text)]),
            ["crates/planted/src/log/mod.rs:2: log (records) imports trail (records), which stands above it"]
        );
        let inline = "fn a() {\n    super::token::issue();\n}\n";
        let found = found(&[("crates/planted/src/oauth/keys/ring.rs", inline)]);
        assert_eq!(found, [""; 0], "inside the room");
    }

    #[test]
    fn paths_through_parents_and_inline_ones_count() {
        let found = found(&[
            ("crates/planted/src/oauth/keys/ring.rs", "use super::super::token::Grant;\n"),
            ("crates/planted/src/registers.rs", "use crate::oauth::token::GRANT;\n"),
            ("crates/planted/src/oauth/token/mod.rs", "//! T.\nuse crate::registers::GRANTS;\n"),
            ("crates/planted/src/trail.rs", "fn a() { crate::oauth::token::b() }\n"),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("oauth/keys (doors) imports oauth/token"), "{found:?}");
        assert!(found[1].contains("imports registers (beside the floors)"), "{found:?}");
        assert!(found[2].contains("trail (records) imports oauth/token"), "{found:?}");
    }

    #[test]
    fn downward_imports_tests_and_listed_exceptions_are_fine() {
        let test = "#[cfg(test)]\nmod tests {\n    use crate::oauth::token::A;\n}\n";
        assert_eq!(
            found(&[
                (
                    "crates/planted/src/oauth/token/mod.rs",
                    "use crate::{log, oauth::keys, state::App, trail};\n"
                ),
                ("crates/planted/src/log/mod.rs", &format!("use crate::oauth::keys;\n{test}")),
                ("crates/planted/src/log/tests.rs", "use crate::trail;\n"),
            ]),
            [""; 0]
        );
    }

    #[test]
    fn a_room_without_a_place_is_found() {
        let found = found(&[("crates/planted/src/cellar/mod.rs", "//! C.\n")]);
        assert!(found[0].contains("is on no floor"), "{found:?}");
    }
}
