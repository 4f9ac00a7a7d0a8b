//! What is offered where, by asking the engine's own decision about every situation there is.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use porteiro_protocol::{
    assurance::{Level, Method, Proof},
    id::{AccountId, ConnectionId},
    time::{Duration, OffsetDateTime},
};
use porteiro_service::{
    connections::{Offered, organizations::Ways},
    credentials::{CredentialKind, KINDS, NewCredential},
    flow::{
        Kind, State,
        actions::{self, Action},
        decide::{self, AccountFacts, Facts, Next, Policy},
        state::{Need, Pending, Stage, Subject, Transport},
    },
    http::ProblemCode,
    registers::REGISTERS,
    settings::Registration,
};

const STAGES: [Stage; 6] =
    [Stage::Authenticate, Stage::Challenge, Stage::Raise, Stage::Profile, Stage::Enrol, Stage::Device];
const KINDS_OF_FLOW: [Kind; 6] = [
    Kind::SignIn,
    Kind::Register,
    Kind::Recover,
    Kind::Reauthenticate,
    Kind::Enrol,
    Kind::Purpose(Cow::Borrowed("confirm_device")),
];

type Offers = BTreeMap<(String, &'static str), BTreeSet<Action>>;

pub fn text() -> String {
    format!("{}\n{}", errors(), stages())
}

fn errors() -> String {
    let mut text = "## Errors\n\n\
        `application/problem+json` (RFC 9457): `type`, `title`, `status`, `code`, `instance` (the request id, as in the \
        log), and where there is more to say `detail`. `refused` and `step_stale` carry the flow as it is now in `flow`, \
        `field_invalid` the fields in `errors`, `credential_unknown` in `signal` what a browser may tell its passkey \
        provider.\n\n| Status | `code` | Title |\n|---|---|---|\n"
        .to_owned();
    for code in ProblemCode::ALL {
        let _ = writeln!(text, "| {} | `{}` | {} |", code.status().as_u16(), code.as_str(), code.title());
    }
    text
}

/// One row per action, one table per kind of flow: the stages in which it can be offered.
fn stages() -> String {
    let offers = offers();
    let mut text = "## What can be offered where\n\n\
        Computed from the engine's decision (`crates/service/src/flow/decide.rs`) over every combination of proofs, \
        credentials, challenges and needs. *yes* means: to some people, in some situation. An empty cell means: to \
        nobody, ever; such a call is `unknown_action`.\n"
        .to_owned();
    for kind in KINDS_OF_FLOW {
        let used = |stage: &Stage| offers.contains_key(&(kind.as_str().to_owned(), stage.as_str()));
        let stages: Vec<Stage> = STAGES.into_iter().filter(used).collect();
        let names: Vec<String> = stages.iter().map(|stage| format!("`{}`", stage.as_str())).collect();
        let _ = writeln!(text, "\n### `{}`\n\n| Action | {} |", kind.as_str(), names.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(stages.len()));
        for action in &actions::all(REGISTERS.purposes) {
            let cells: Vec<&str> = stages
                .iter()
                .map(|stage| {
                    if offers[&(kind.as_str().to_owned(), stage.as_str())].contains(action) {
                        "yes"
                    } else {
                        ""
                    }
                })
                .collect();
            if cells.contains(&"yes") {
                let _ = writeln!(text, "| `{}` | {} |", action.path(), cells.join(" | "));
            }
        }
    }
    text
}

fn now() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::days(20_000)
}

fn somebody() -> AccountId {
    "00000000-0000-7000-8000-000000000001".parse().unwrap()
}

fn connection() -> ConnectionId {
    "00000000-0000-4000-8000-000000000001".parse().unwrap()
}

fn offers() -> Offers {
    let mut offers = Offers::new();
    for challenges in [vec![], vec!["email_code"], vec!["sms_code"], vec!["email_code", "sms_code"]] {
        for kind in KINDS_OF_FLOW {
            add(&mut offers, &state(&kind), &facts(None, &challenges));
            if matches!(kind, Kind::Register) {
                for pending in pendings() {
                    add(&mut offers, &pending, &facts(None, &challenges));
                }
            } else {
                for state in proved(&kind) {
                    for account in accounts() {
                        add(&mut offers, &state, &facts(Some(account), &challenges));
                    }
                }
            }
        }
    }
    offers
}

fn add(offers: &mut Offers, state: &State, facts: &Facts) {
    if let Next::Ask { stage, actions } = decide::next(state, facts) {
        offers.entry((state.kind.as_str().to_owned(), stage.as_str())).or_default().extend(actions);
    }
}

fn facts(account: Option<AccountFacts>, challenges: &[&'static str]) -> Facts {
    Facts {
        standing: None,
        opening: REGISTERS.purposes.iter().find_map(|purpose| purpose.opening()),
        policy: Policy {
            registration: Registration::Open,
            minimum_level: Level::None,
            sms: true,
            sms_sign_in: true,
            mail: true,
        },
        account,
        session_alive: true,
        challenges: challenges.to_vec(),
        connections: vec![Offered { id: connection(), name: "Example".into() }],
        directory: None,
        ways: Ways::Any,
        remembered: None,
        vouched: None,
        now: now(),
    }
}

/// Every set of credentials, each with no hold, one that waits and one that is over.
fn accounts() -> Vec<AccountFacts> {
    let kinds: Vec<CredentialKind> = KINDS.iter().map(|info| info.kind).collect();
    let holds = [None, Some(now() + Duration::hours(1)), Some(now() - Duration::hours(1))];
    let sets = (1_u32..1 << kinds.len()).flat_map(|set| {
        let usable: Vec<CredentialKind> = kinds
            .iter()
            .enumerate()
            .filter(|(bit, _)| set & (1 << bit) != 0)
            .map(|(_, kind)| *kind)
            .collect();
        holds.map(|hold_until| AccountFacts {
            active: true,
            usable: usable.clone(),
            bound: usable.clone(),
            sign_in_numbers: Vec::new(),
            hold_until,
        })
    });
    sets.collect()
}

fn state(kind: &Kind) -> State {
    State::new(kind.clone(), Transport::Browser, "en", String::new())
}

/// Every one and two proofs, fresh and old; every need; everything an enrolment can want.
fn proved(kind: &Kind) -> Vec<State> {
    let proof = |method: Method, minutes: i64| Proof {
        method,
        credential: None,
        at: now() - Duration::minutes(minutes),
        user_verified: method == Method::Passkey,
    };
    let wants: Vec<Option<CredentialKind>> = match kind {
        Kind::Enrol => KINDS.iter().map(|info| Some(info.kind)).collect(),
        Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Purpose(_) => {
            vec![None]
        }
    };
    let mut states = Vec::new();
    for first in Method::ALL {
        for second in Method::ALL {
            for minutes in [0, 15] {
                for level in Level::ALL {
                    for wants in &wants {
                        let mut state = state(kind);
                        state.subject = Subject::Account(somebody());
                        state.proofs = vec![proof(first, minutes), proof(second, minutes)];
                        let fresh = matches!(kind, Kind::Reauthenticate | Kind::Enrol);
                        state.need = Need { level, fresh };
                        state.wants = *wants;
                        states.push(state);
                    }
                }
            }
        }
    }
    // A recovery goes on after what it enrolled first.
    if *kind == Kind::Recover {
        let enrolled = vec![CredentialKind::Password];
        let after = |state: &State| State { enrolled: enrolled.clone(), ..state.clone() };
        states.extend(states.iter().map(after).collect::<Vec<_>>());
    }
    states
}

/// A registration after its mailbox was proved: without a name, with one, with a level that it must reach.
fn pendings() -> Vec<State> {
    let pending = |display_name: Option<&str>, credentials: Vec<NewCredential>| {
        let mut state = state(&Kind::Register);
        state.proved_address = Some("ana@example.test".into());
        state.pending = Some(Pending {
            account_id: somebody(),
            user_handle: Vec::new(),
            display_name: display_name.map(str::to_owned),
            platform_administrator: false,
            credentials,
        });
        state
    };
    let mut demanded = pending(Some("Ana"), Vec::new());
    demanded.need.level = Level::Aal2;
    vec![pending(None, Vec::new()), pending(Some("Ana"), Vec::new()), demanded]
}
