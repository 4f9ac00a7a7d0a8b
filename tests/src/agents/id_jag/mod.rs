//! Identity assertions between authorization servers (draft-ietf-oauth-identity-assertion-authz-grant).

mod driver;
mod issuing;
