-- Clients and the APIs they ask tokens for.

CREATE TABLE client (
    client_id text PRIMARY KEY,
    trust text NOT NULL CHECK (trust IN ('unverified', 'verified', 'first_party')),
    profile text NOT NULL CHECK (profile IN ('default', 'fapi2')),
    -- Everything that was registered (RFC 7591 §2), as echoed.
    metadata jsonb NOT NULL,
    secret_hash bytea,
    -- Of the token that reads, replaces and removes the registration (RFC 7592); only who registered itself has one.
    registration_hash bytea,
    -- Whether its tokens speak for organizations; one that belongs to an organization speaks for no other.
    organization_mode text NOT NULL DEFAULT 'optional' CHECK (organization_mode IN ('none', 'optional', 'required')),
    organization_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When this row last changed; never twice the same. Nodes that remember the row compare it.
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- What was granted before counts no more: it changed so much that it is another client, or it was disabled.
    grants_from timestamptz NOT NULL DEFAULT now(),
    -- Some day on which it was used, not every moment.
    last_used_at timestamptz,
    disabled_at timestamptz
);
CREATE INDEX client_by_organization ON client (organization_id) WHERE organization_id IS NOT NULL;
CREATE INDEX client_by_age ON client (created_at, client_id);
CREATE INDEX client_changed_at ON client (changed_at);
-- How many there are is asked at every registration.
CREATE INDEX client_unverified ON client (client_id) WHERE trust = 'unverified' AND disabled_at IS NULL;
COMMENT ON TABLE client IS 'shard: client_id. Applications, services and agents.';

CREATE TABLE api (
    identifier text PRIMARY KEY,
    name text NOT NULL,
    -- [{"name", "open_to_unverified", "description": {"en", "pt"}}]
    scopes jsonb NOT NULL,
    -- Types of authorization details (RFC 9396), each with its JSON Schema.
    details jsonb NOT NULL,
    -- Clients that may introspect its tokens.
    introspected_by text[] NOT NULL,
    -- Whether its scopes are permissions: held through roles in an organization, and only there.
    organizational boolean NOT NULL DEFAULT false,
    token_seconds integer NOT NULL CHECK (token_seconds BETWEEN 30 AND 600),
    algorithm text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE api IS 'shard: replicated. Resource servers: what tokens are good for; a handful of rows.';

CREATE TABLE assertion_seen (
    client_id text NOT NULL,
    jti_hash bytea NOT NULL,
    -- The assertion's own expiry as the smallest UUIDv7 of that instant: a replay carries the same one.
    expiry uuid NOT NULL,
    PRIMARY KEY (client_id, jti_hash, expiry)
) PARTITION BY RANGE (expiry);
COMMENT ON TABLE assertion_seen IS 'shard: client_id. Client assertions used once (RFC 7523 §3); leaves by the partition.';
