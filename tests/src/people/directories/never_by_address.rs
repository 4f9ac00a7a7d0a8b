//! Over random histories of directories, domains and accounts that share addresses: an identity is an account's only if
//! that account's owner proved it in the same flow, or the account was made for it.

use std::collections::BTreeMap;

use porteiro_protocol::id::AccountId;
use porteiro_testkit::nothing;
use serde_json::json;

use super::{Asked, World, entering::domain, world_with};
use crate::{
    organizations::driver::account_of,
    people::{PASSWORD, long, register_with_password},
};

const ADDRESSES: [&str; 2] = ["ana@example.test", "ben@example.test"];
const SUBJECTS: [&str; 4] = ["s-0", "s-1", "s-2", "s-3"];

/// Numbers that look random, from a seed that repeats them.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Whose every identity is, in the database.
async fn stored(world: &World) -> BTreeMap<String, AccountId> {
    let sql = "SELECT i.subject, m.account_id::text FROM directory_identity i
               JOIN membership m USING (organization_id, membership_id)";
    let rows = world.app.database.client().await.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get::<_, String>(1).parse().unwrap())).collect()
}

/// One sign-in by the directory: as whom it says, with whose address it says.
async fn sign_in(
    world: &World,
    random: &mut Random,
    accounts: &[AccountId; 2],
    known: &mut BTreeMap<String, AccountId>,
) {
    let subject = random.pick(&SUBJECTS);
    let verified = random.pick(&[json!(true), json!(false), json!(null)].each_ref()).clone();
    world.provider.bend_claims(json!({"email": random.pick(&ADDRESSES), "email_verified": verified}));
    let before = stored(world).await;
    let mut asked = world.vouched(subject, &[]).await;
    let Asked { browser, flow, .. } = &mut asked;
    if flow.stage() != "claim" {
        assert!(known.contains_key(subject), "{subject} was let in, and nobody had said who that is");
        return;
    }
    assert!(!known.contains_key(subject), "{subject} was asked again");
    match random.below(3) {
        0 => {}
        1 if flow.offers().contains(&"claim/new") => {
            flow.act(browser, "claim/new", nothing()).await;
            let made = stored(world).await.get(subject).copied();
            let made = made.expect("the identity is the new account's");
            assert!(!before.values().any(|it| *it == made) && !accounts.contains(&made), "a new account");
            known.insert(subject.to_owned(), made);
        }
        _ => {
            let who = random.below(2);
            flow.act(browser, "claim/existing", nothing()).await;
            let proof = json!({"identifier": ADDRESSES[who], "password": PASSWORD});
            flow.act(browser, "password/check", proof).await;
            let admits = flow.attempt(browser, "claim/attach", nothing()).await;
            assert_eq!(admits.status, 200, "{}", admits.text());
            if stored(world).await.contains_key(subject) {
                known.insert(subject.to_owned(), accounts[who]);
            }
        }
    }
}

#[tokio::test]
async fn an_identity_reaches_an_account_only_by_a_proof_of_that_account() {
    for seed in 0..if long() { 40 } else { 2 } {
        let mut random = Random(seed);
        let world = world_with(json!({"jit_role": "member"})).await;
        let mut accounts = Vec::new();
        for address in ADDRESSES {
            accounts.push(account_of(&mut register_with_password(&world.app, address).await).await);
        }
        let accounts: [AccountId; 2] = accounts.try_into().unwrap();
        let mut known = BTreeMap::new();
        for _ in 0..10 {
            match random.below(4) {
                0 => domain(&world, "example.test", random.pick(&["pending", "verified", "lapsed"])).await,
                1 => {
                    let role = random.pick(&[Some("member"), None]);
                    let body = json!({"jit_role": role, "authoritative": random.below(2) == 0});
                    assert_eq!(world.change(body).await.status, 200);
                }
                _ => sign_in(&world, &mut random, &accounts, &mut known).await,
            }
            assert_eq!(stored(&world).await, known, "seed {seed}");
        }
        let credentials = "SELECT count(*) FROM credential";
        assert_eq!(world.app.count(credentials).await, 4, "an address and a password each, as before");
    }
}
