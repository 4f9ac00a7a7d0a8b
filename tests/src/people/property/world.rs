//! Two people, a deployment and a flow: everything `decide` can be told, and everything that can happen meanwhile.

use porteiro_protocol::{
    assurance::{Level, Proof},
    id::{AccountId, CredentialId, Id},
    time::{Duration, OffsetDateTime},
};
use porteiro_service::{
    connections::organizations::Ways,
    credentials::{CredentialKind, NewCredential},
    flow::{
        Kind, State,
        actions::Action,
        decide::{self, AccountFacts, Facts, Policy},
        state::{Need, Notice, Pending, Refusal, Subject, Transport},
    },
    registers::REGISTERS,
    settings::Registration,
};

use super::{
    person::{Held, KINDS, Person},
    random::Random,
};

/// One of the two people, or nobody.
#[derive(Clone, Copy)]
struct Whose(Option<usize>);

pub struct World {
    pub policy: Policy,
    pub people: [Person; 2],
    pub session_is_alive: bool,
    pub now: OffsetDateTime,
    /// Proofs made in the flow itself, not brought along.
    pub proved_here: usize,
    /// A live challenge, and whose address it went to.
    challenges: Vec<(&'static str, Whose)>,
    /// The phone that the text message went to.
    texted: Option<CredentialId>,
}

impl World {
    pub fn any(random: &Random) -> Self {
        let registration = random.pick(&[
            Registration::Open,
            Registration::Open,
            Registration::Invited,
            Registration::Closed,
        ]);
        let minimum_level = random.pick(&[Level::None, Level::None, Level::Aal1, Level::Aal2]);
        let mut people = [Person::any(random), Person::any(random)];
        let now = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        if random.percent(10) {
            people[0].hold_until =
                Some(now + Duration::minutes(i64::try_from(random.below(60)).unwrap() - 20));
        }
        Self {
            policy: Policy {
                registration,
                minimum_level,
                sms: random.percent(85),
                sms_sign_in: random.percent(50),
                mail: random.percent(95),
            },
            people,
            session_is_alive: true,
            now,
            proved_here: 0,
            challenges: Vec::new(),
            texted: None,
        }
    }

    pub fn person(&self, id: AccountId) -> &Person {
        self.people.iter().find(|person| person.id == id).expect("one of the two")
    }

    /// Whether a proof's credential does not exist any more.
    pub fn is_gone(&self, proof: &Proof) -> bool {
        let mut all = self.people.iter().flat_map(|person| &person.credentials);
        all.all(|held| !held.proved(proof))
    }

    /// As `flow::open` begins each kind.
    pub fn open(&self, random: &Random) -> State {
        let kinds = [
            Kind::SignIn,
            Kind::Register,
            Kind::Recover,
            Kind::Reauthenticate,
            Kind::Enrol,
            Kind::Purpose("confirm_device".into()),
        ];
        let kind = kinds[random.below(kinds.len())].clone();
        let mut state = State::new(kind.clone(), Transport::Browser, "en", "two words".into());
        state.need.level = random.pick(&[Level::None, Level::None, Level::Aal1, Level::Aal2]);
        match kind {
            Kind::SignIn | Kind::Recover | Kind::Purpose(_) => {}
            Kind::Register => state.bootstrap = random.percent(20).then(|| "a hash".to_owned()),
            Kind::Reauthenticate | Kind::Enrol => {
                let person = &self.people[0];
                state.subject = Subject::Account(person.id);
                state.session = Some(Id::random(&random.0));
                state.need = Need { level: state.need.level, fresh: true };
                for _ in 0..=random.below(3) {
                    let held = &person.credentials[random.below(person.credentials.len())];
                    let minutes = random.pick(&[0, 1, 9, 11, 120, 1_500]);
                    state.proofs.push(held.proof(self.now - Duration::minutes(minutes)));
                }
                state.inherited = state.proofs.len();
                state.wants = (kind == Kind::Enrol).then(|| random.pick(&KINDS));
            }
        }
        state
    }

    /// As `flow::facts::gather` reads them from the database; proofs of credentials that are gone are dropped.
    pub fn facts(&self, state: &mut State) -> Facts {
        let account = state.account().map(|id| self.person(id));
        if let Some(person) = account {
            state.proofs.retain(|proof| person.credentials.iter().any(|held| held.proved(proof)));
        }
        let kinds = |held: &mut dyn Iterator<Item = &Held>| held.map(|held| held.kind).collect();
        let account = account.map(|person| AccountFacts {
            active: person.active,
            usable: kinds(&mut person.credentials.iter().filter(|held| held.good)),
            bound: kinds(&mut person.credentials.iter()),
            sign_in_numbers: person
                .credentials
                .iter()
                .filter(|held| held.signs_in)
                .map(|held| held.id.uuid())
                .collect(),
            hold_until: person.hold_until,
        });
        Facts {
            standing: None,
            opening: REGISTERS.purposes.iter().find_map(|purpose| purpose.opening()),
            policy: Policy { sms_sign_in: self.policy.sms && self.policy.sms_sign_in, ..self.policy },
            account,
            session_alive: state.session.is_none() || self.session_is_alive,
            challenges: self.challenges.iter().map(|(module, _)| *module).collect(),
            connections: Vec::new(),
            directory: None,
            ways: Ways::Any,
            remembered: None,
            vouched: None,
            now: self.now,
        }
    }

    /// What other people, other flows, operators and time do between two steps.
    pub fn meanwhile(&mut self, random: &Random) {
        if random.percent(30) {
            self.now += Duration::minutes(random.pick(&[0, 1, 4, 8, 12]));
        }
        let person = &mut self.people[usize::from(random.percent(30))];
        match random.below(100) {
            0 => person.active = false,
            1..=3 => {
                let worn = random.below(person.credentials.len());
                let worn = &mut person.credentials[worn];
                // A mailbox and a passkey never wear out.
                worn.good = matches!(worn.kind, CredentialKind::Email | CredentialKind::Passkey);
            }
            4 => {
                let kind = random.pick(&KINDS[..5]);
                person.credentials.retain(|held| held.kind != kind);
            }
            5 | 6 => {
                person.bind(random.pick(&KINDS), random);
            }
            7 => person.hold_until = None,
            8 => person.hold_until = Some(self.now + Duration::hours(72)),
            9 => self.policy.registration = Registration::Closed,
            10 => self.policy.sms = !self.policy.sms,
            11 => self.session_is_alive = false,
            12 | 13 => self.challenges.clear(),
            _ => {}
        }
    }

    /// The action's module looks at it and, if it is right, its effect is applied. As `flow::apply`.
    pub fn act(&mut self, state: &mut State, action: Action, right: bool, random: &Random) {
        match action.path() {
            "email_code/send" => self.send(state, "email_code", random),
            "sms_code/send" => self.text(state, random),
            "passkey/enrol_begin" => self.challenge("passkey_enrol", state),
            "totp/enrol_begin" => self.challenge("totp_enrol", state),
            "email/add" => self.challenge("email_add", state),
            "phone/add" => self.challenge("phone_add", state),
            "flow/back" => {
                self.challenges.retain(|(module, _)| !matches!(*module, "email_code" | "sms_code"));
            }
            "enrol/skip" => state.offer_dismissed = true,
            "recovery/hold" => self.hold(state),
            // The last four only where a client asked: no flow of this world leads back to one, and no device waits.
            "passkey/begin"
            | "device/look"
            | "account/confirm"
            | "account/switch"
            | "organization/choose"
            | "consent/allow"
            | "consent/deny" => {}
            _ if !right => {}
            "profile/set" => {
                if let Some(pending) = &mut state.pending {
                    pending.display_name = Some("Ana".into());
                }
            }
            "passkey/finish" => self.prove(state, CredentialKind::Passkey, random),
            "password/check" => self.prove(state, CredentialKind::Password, random),
            "totp/check" => self.prove(state, CredentialKind::Totp, random),
            "recovery_code/check" => self.prove(state, CredentialKind::RecoveryCodes, random),
            "sms_code/check" => self.prove_text(state),
            "email_code/check" | "email_link/redeem" => {
                if let Some(whose) = self.consume("email_code") {
                    self.prove_mailbox(state, whose, random);
                }
            }
            "passkey/enrol_finish" => {
                self.finish(state, "passkey_enrol", CredentialKind::Passkey, random);
            }
            "totp/enrol_finish" => self.finish(state, "totp_enrol", CredentialKind::Totp, random),
            "email/verify" => self.finish(state, "email_add", CredentialKind::Email, random),
            "phone/verify" => self.finish(state, "phone_add", CredentialKind::Phone, random),
            "password/set" => self.bind(state, CredentialKind::Password, random),
            "recovery_code/generate" => self.bind(state, CredentialKind::RecoveryCodes, random),
            other => panic!("{other} is not played here"),
        }
    }

    /// The flow's account, mostly; now and then another one presents its own perfectly good proof.
    fn presenter(&self, state: &State, random: &Random) -> usize {
        let known = state.account().and_then(|id| self.people.iter().position(|person| person.id == id));
        if random.percent(10) { random.below(2) } else { known.unwrap_or(0) }
    }

    fn prove(&mut self, state: &mut State, kind: CredentialKind, random: &Random) {
        let person = &self.people[self.presenter(state, random)];
        if let Some(held) = person.working(kind)
            && decide::prove(state, person.id, held.proof(self.now))
        {
            self.proved_here += 1;
        }
    }

    fn prove_mailbox(&mut self, state: &mut State, whose: Whose, random: &Random) {
        let before = state.clone();
        state.proved_address = Some("ana@example.test".into());
        let known = state.account().map(|id| self.person(id).id);
        let found = whose.0.map(|index| self.people[index].id);
        let proved = match (whose.0, state.kind.clone()) {
            _ if known.is_some() && known != found => false,
            (None, Kind::SignIn | Kind::Register) => {
                state.kind = Kind::Register;
                state.pending = Some(Pending {
                    account_id: Id::random(&random.0),
                    user_handle: Vec::new(),
                    display_name: None,
                    platform_administrator: state.bootstrap.is_some(),
                    credentials: Vec::new(),
                });
                true
            }
            (None, Kind::Recover | Kind::Purpose(_)) => {
                state.refusal = Some(Refusal::NoAccount);
                true
            }
            (None, Kind::Reauthenticate | Kind::Enrol) => false,
            (Some(whose), kind) => {
                if kind == Kind::Register {
                    state.kind = Kind::SignIn;
                    state.notices.push(Notice::AlreadyHaveAccount);
                }
                let person = &self.people[whose];
                let mailbox = person.working(CredentialKind::Email).unwrap();
                decide::prove(state, person.id, mailbox.proof(self.now))
            }
        };
        if proved {
            self.proved_here += 1;
        } else {
            *state = before;
        }
    }

    fn send(&mut self, state: &mut State, module: &'static str, random: &Random) {
        let known = state.account().and_then(|id| self.people.iter().position(|person| person.id == id));
        let whose = known.or_else(|| random.pick(&[Some(0), Some(0), Some(1), None]));
        state.typed = Some("ana@example.test".into());
        if state.subject == Subject::None {
            state.subject = Subject::Shadow;
        }
        self.challenges.retain(|(other, _)| *other != module);
        self.challenges.push((module, Whose(whose)));
    }

    /// Before the account is known, whoever has no number to sign in with gets nothing; a code is asked for all the same.
    fn text(&mut self, state: &mut State, random: &Random) {
        let first_step = state.account().is_none();
        if first_step {
            self.send(state, "sms_code", random);
        } else {
            self.challenge("sms_code", state);
        }
        let whose = self.challenges.last().and_then(|(_, whose)| whose.0);
        let phone = whose.and_then(|whose| self.people[whose].texted(first_step));
        self.texted = phone.map(|held| held.id);
    }

    fn prove_text(&mut self, state: &mut State) {
        if self.consume("sms_code").is_none() {
            return;
        }
        for person in &self.people {
            let phone = person.credentials.iter().find(|held| Some(held.id) == self.texted && held.good);
            if phone.is_some_and(|held| decide::prove(state, person.id, held.proof(self.now))) {
                self.proved_here += 1;
            }
        }
    }

    fn challenge(&mut self, module: &'static str, state: &State) {
        let whose = state.account().and_then(|id| self.people.iter().position(|person| person.id == id));
        self.challenges.retain(|(other, _)| *other != module);
        self.challenges.push((module, Whose(whose)));
    }

    fn consume(&mut self, module: &str) -> Option<Whose> {
        let index = self.challenges.iter().position(|(other, _)| *other == module)?;
        Some(self.challenges.remove(index).1)
    }

    fn finish(&mut self, state: &mut State, module: &str, kind: CredentialKind, random: &Random) {
        if self.consume(module).is_some() {
            self.bind(state, kind, random);
        }
    }

    fn bind(&mut self, state: &mut State, kind: CredentialKind, random: &Random) {
        state.enrolled.push(kind);
        // Where a level asks for it, binding proves it; saved codes, addresses and numbers are not asked for.
        let raises = decide::level(state, self.now) < state.need.level.max(self.policy.minimum_level)
            && matches!(kind, CredentialKind::Passkey | CredentialKind::Password | CredentialKind::Totp);
        let Some(id) = state.account() else {
            let held = Held::any(kind, random);
            state.proofs.extend(raises.then(|| held.proof(self.now)));
            state.pending.as_mut().unwrap().credentials.push(NewCredential {
                id: held.id,
                kind,
                label: String::new(),
                body: serde_json::Value::Null,
                counter: -1,
            });
            return;
        };
        let now = self.now;
        let person = self.people.iter_mut().find(|person| person.id == id).unwrap();
        let old = person.bind(kind, random);
        state.proofs.extend(raises.then(|| person.credentials.last().unwrap().proof(now)));
        let Some(old) = old else { return };
        let proved = state.proofs.iter().any(|proof| proof.credential == Some(old.uuid()));
        state.proofs.retain(|proof| proof.credential != Some(old.uuid()));
        // Whoever just proved the old password chose the new one.
        if proved && kind == CredentialKind::Password {
            state.proofs.push(person.working(kind).unwrap().proof(now));
        }
    }

    fn hold(&mut self, state: &mut State) {
        let Some(id) = state.account() else { return };
        let until = self.now + Duration::hours(72);
        self.people.iter_mut().find(|person| person.id == id).unwrap().hold_until = Some(until);
        state.notices.push(Notice::RecoveryHoldStarted);
        state.refusal = Some(Refusal::RecoveryHeld);
    }
}
