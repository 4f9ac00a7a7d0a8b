-- Directories of organizations: OpenID providers by which their members sign in.

-- A table of its own: nodes of the previous release offer every row of `connection` to everybody.
CREATE TABLE organization_connection (
    organization_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    name text NOT NULL,
    -- Never changed: the identities of members are those of this issuer.
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_authentication text NOT NULL
        CHECK (client_authentication IN ('client_secret_basic', 'client_secret_post', 'private_key_jwt')),
    -- Encrypted.
    client_secret bytea,
    -- The one algorithm of its ID tokens.
    algorithm text NOT NULL,
    enabled boolean NOT NULL,
    -- The claim of its ID tokens that is the external_id of provisioned members.
    subject_claim text NOT NULL,
    -- The role with which people join who are not members yet; null: nobody does.
    jit_role text,
    -- Whether the addresses that it asserts count as verified although it does not say so.
    authoritative boolean NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, connection_id),
    CHECK ((client_secret IS NULL) = (client_authentication = 'private_key_jwt'))
);
COMMENT ON TABLE organization_connection IS 'shard: organization_id. OpenID providers by which members of one organization sign in.';

CREATE TABLE directory_identity (
    organization_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    -- As the connection's issuer has it. Never an address.
    subject text NOT NULL,
    membership_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, identity_id),
    UNIQUE (organization_id, connection_id, subject)
);
CREATE INDEX directory_identity_of ON directory_identity (organization_id, membership_id);
COMMENT ON TABLE directory_identity IS 'shard: organization_id. Which member a subject of an organization''s directory is.';

ALTER TABLE membership DROP CONSTRAINT membership_source_check;
ALTER TABLE membership ADD CONSTRAINT membership_source_check
    CHECK (source IN ('invitation', 'admin', 'founder', 'scim', 'jit'));
