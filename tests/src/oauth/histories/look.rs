//! What is looked at after every step.

use serde_json::json;

use super::{
    super::driver::userinfo,
    Random,
    model::{ISSUER, read},
    steps::{World, refused},
};

impl World {
    /// Some lineage, as everybody sees it now.
    pub async fn look(&self, random: &Random) {
        if let Some(index) = self.any(random, |it| it.redeemed) {
            self.look_at(index).await;
        }
    }

    pub async fn look_at_all(&mut self) {
        for index in 0..self.lineages.len() {
            self.look_at(index).await;
            let lineage = &self.lineages[index];
            let own = &self.clients[lineage.client].0;
            // P5: every token there ever was of a dead one.
            if lineage.dead {
                refused(&own.redeem(&self.app, &lineage.code, &lineage.verifier).await, "invalid_grant");
                for token in &lineage.refresh {
                    refused(&own.refresh(&self.app, token, &[]).await, "invalid_grant");
                }
            }
        }
    }

    async fn look_at(&self, index: usize) {
        let lineage = &self.lineages[index];
        let own = &self.clients[lineage.client].0;
        for (token, scopes) in lineage.access.iter().rev().take(3) {
            let told = own.call(&self.app, "/connect/introspect", &[("token", token)]).await.json();
            assert_eq!(told["active"], !lineage.dead, "seed {}: {told} {lineage:?}", self.seed);
            if !lineage.dead {
                assert_eq!(
                    (&read(told["scope"].as_str().unwrap()), &told["aud"]),
                    (scopes, &json!(lineage.audience))
                );
                assert_eq!(told["iss"], ISSUER);
            }
            let status = userinfo(&self.app, token).await.status.as_u16();
            let expected = if !scopes.contains("openid") {
                403
            } else if lineage.dead {
                401
            } else {
                200
            };
            assert_eq!(status, expected, "seed {}: {lineage:?}", self.seed);
        }
        if let Some(token) = lineage.refresh.last() {
            let told = own.call(&self.app, "/connect/introspect", &[("token", token)]).await.json();
            assert_eq!(told["active"], !lineage.dead, "seed {}: {lineage:?}", self.seed);
        }
    }
}
