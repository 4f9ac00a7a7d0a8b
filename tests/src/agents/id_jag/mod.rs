//! Identity assertions between authorization servers (draft-ietf-oauth-identity-assertion-authz-grant).

mod driver;
mod false_assertions;
mod issuing;
mod redeeming;
mod resource;
mod trusting;
