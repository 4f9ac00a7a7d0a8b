-- Consent that a member gives while only a directory vouches for them (docs/decisions/0120).

-- Apart from the consent of accounts.
CREATE TABLE directory_consent (
    account_id uuid NOT NULL,
    client_id text NOT NULL,
    audience text NOT NULL,
    organization_id uuid NOT NULL,
    scope text NOT NULL,
    given_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, client_id, audience, organization_id)
);
COMMENT ON TABLE directory_consent IS 'shard: account_id. What a member allowed a client while only a directory vouched for them.';
