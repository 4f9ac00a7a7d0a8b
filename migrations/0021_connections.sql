-- Connections to other OpenID providers, and the identities that people have there.

CREATE TABLE connection (
    connection_id uuid PRIMARY KEY,
    name text NOT NULL,
    -- Never changed: the identities that people linked are those of this issuer.
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_authentication text NOT NULL
        CHECK (client_authentication IN ('client_secret_basic', 'client_secret_post', 'private_key_jwt')),
    -- Encrypted.
    client_secret bytea,
    -- The one algorithm of its ID tokens.
    algorithm text NOT NULL,
    enabled boolean NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((client_secret IS NULL) = (client_authentication = 'private_key_jwt'))
);
COMMENT ON TABLE connection IS 'shard: replicated. Other OpenID providers by which people sign in.';

ALTER TABLE credential DROP CONSTRAINT credential_kind_check;
ALTER TABLE credential ADD CONSTRAINT credential_kind_check
    CHECK (kind IN ('passkey', 'password', 'totp', 'recovery_codes', 'email', 'phone', 'federated'));
ALTER TABLE identifier DROP CONSTRAINT identifier_kind_check;
ALTER TABLE identifier ADD CONSTRAINT identifier_kind_check
    CHECK (kind IN ('email', 'phone', 'user_handle', 'external'));
