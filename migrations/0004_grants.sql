-- What people allowed clients: grants, consents, requests on their way.

CREATE TABLE oauth_grant (
    grant_id uuid NOT NULL,
    account_id uuid NOT NULL,
    client_id text NOT NULL,
    -- 0: the code was issued. 1: it was redeemed; from then on the refresh tokens, one after the other.
    generation integer NOT NULL DEFAULT 0,
    current_hash bytea NOT NULL,
    rotated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    revoke_reason text,
    reuse_generation integer,
    -- The organization's authority_version at which all of the scope was held; -1: to be checked again.
    authority_version bigint,
    -- The key or certificate a public client's refresh tokens are bound to (RFC 9449 §5, RFC 8705 §4).
    bound_key bytea,
    -- From here on nothing changes: rotating a token rewrites only what stands above.
    ends_at timestamptz NOT NULL,
    idle_seconds integer NOT NULL,
    session_id uuid NOT NULL,
    -- The one organization it speaks for, and as whom there.
    organization_id uuid,
    membership_id uuid,
    -- Whether it outlives the session (OpenID Connect Core §11).
    offline boolean NOT NULL,
    code_challenge bytea NOT NULL,
    redirect_uri text,
    scope text NOT NULL,
    audience text NOT NULL,
    terms jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (grant_id, account_id)
) PARTITION BY RANGE (grant_id);
CREATE INDEX oauth_grant_by_account ON oauth_grant (account_id);
CREATE INDEX oauth_grant_by_organization ON oauth_grant (organization_id, client_id) WHERE organization_id IS NOT NULL;
COMMENT ON TABLE oauth_grant IS 'shard: account_id. A code and the refresh tokens it became, one row for life.';

CREATE TABLE consent (
    account_id uuid NOT NULL,
    client_id text NOT NULL,
    audience text NOT NULL,
    -- Acting for whom; nil for nobody but themselves.
    organization_id uuid NOT NULL,
    scope text NOT NULL,
    given_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, client_id, audience, organization_id)
);
COMMENT ON TABLE consent IS 'shard: account_id. What a person has allowed a client, and need not be asked again.';

CREATE TABLE pushed_request (
    request_id uuid PRIMARY KEY,
    client_id text NOT NULL,
    secret_hash bytea NOT NULL,
    request jsonb NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
) PARTITION BY RANGE (request_id);
COMMENT ON TABLE pushed_request IS 'shard: request_id. Authorization requests a client pushed (RFC 9126).';

CREATE TABLE code_challenge_seen (
    client_id text NOT NULL,
    challenge bytea NOT NULL,
    -- The day, as the smallest UUIDv7 of its end.
    expiry uuid NOT NULL,
    PRIMARY KEY (client_id, challenge, expiry)
) PARTITION BY RANGE (expiry);
COMMENT ON TABLE code_challenge_seen IS 'shard: client_id. PKCE challenges of the day: a constant one is no protection.';

CREATE TABLE proof_seen (
    key_thumbprint bytea NOT NULL,
    jti_hash bytea NOT NULL,
    expiry uuid NOT NULL,
    PRIMARY KEY (key_thumbprint, jti_hash, expiry)
) PARTITION BY RANGE (expiry);
COMMENT ON TABLE proof_seen IS 'shard: key_thumbprint. DPoP proofs used once (RFC 9449 §11.1); leaves by the partition.';
