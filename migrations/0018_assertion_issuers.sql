-- Which other servers an organization trusts to say who a member is, and as whom it knows their subjects (ID-JAG).

CREATE TABLE assertion_issuer (
    organization_id uuid NOT NULL,
    issuer_id uuid NOT NULL,
    issuer text NOT NULL,
    -- The tenant of a server that has several; null: its assertions name none.
    tenant text,
    -- The client that may redeem its assertions.
    client_id text NOT NULL,
    algorithms text[] NOT NULL,
    -- Whether its auth_time and acr are believed.
    believes_authentication boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, issuer_id),
    UNIQUE (organization_id, issuer, client_id)
);
COMMENT ON TABLE assertion_issuer IS 'shard: organization_id. Servers whose identity assertions a client may redeem for a member. Rows do not change.';
CREATE INDEX assertion_issuer_by_client ON assertion_issuer (client_id, issuer);

CREATE TABLE external_identity (
    organization_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    issuer text NOT NULL,
    -- Within which the subject is unique; empty: within the issuer.
    tenant text NOT NULL DEFAULT '',
    subject text NOT NULL,
    membership_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, identity_id),
    UNIQUE (organization_id, issuer, tenant, subject)
);
COMMENT ON TABLE external_identity IS 'shard: organization_id. Which member a subject of another server is. Never found by an address.';
CREATE INDEX external_identity_by_membership ON external_identity (organization_id, membership_id);
