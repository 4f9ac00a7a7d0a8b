-- People: accounts, what identifies them, how they prove themselves, their sessions and flows, and the log.

CREATE TABLE account (
    account_id uuid PRIMARY KEY,
    state text NOT NULL CHECK (state IN ('active', 'disabled', 'deleted')),
    display_name text NOT NULL,
    locale text NOT NULL,
    -- What passkeys know this person by: random, never an id or address (WebAuthn §14.6.1).
    user_handle bytea NOT NULL,
    platform_administrator boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    recovery_hold_until timestamptz
);
CREATE INDEX account_by_age ON account (created_at, account_id);
CREATE INDEX account_by_state ON account (state, created_at, account_id) WHERE state <> 'active';
COMMENT ON TABLE account IS 'shard: account_id. One person, once; no address in it.';

CREATE TABLE identifier (
    -- Keyed hash of kind and value: the directory holds no address.
    identifier_key bytea PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('email', 'phone', 'user_handle')),
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE identifier IS 'shard: identifier_key. From what a person types or holds to the account.';

CREATE TABLE credential (
    account_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('passkey', 'password', 'totp', 'recovery_codes', 'email', 'phone')),
    label text NOT NULL,
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'exhausted')),
    body jsonb NOT NULL,
    -- Last accepted TOTP step or passkey counter: only ever grows.
    counter bigint NOT NULL DEFAULT -1,
    -- Failed verifications since the last success (NIST SP 800-63B-4 §3.2.2).
    failures integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (account_id, credential_id)
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX credential_one_of_a_kind ON credential (account_id, kind)
    WHERE kind IN ('password', 'totp', 'recovery_codes');
COMMENT ON TABLE credential IS 'shard: account_id. Every way a person can prove who they are, and their addresses.';

CREATE TABLE recovery_code (
    account_id uuid NOT NULL,
    selector text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (account_id, selector)
);
COMMENT ON TABLE recovery_code IS 'shard: account_id. Unused recovery codes; a used one is gone.';

CREATE TABLE session (
    session_id uuid NOT NULL,
    account_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    proofs jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    -- It lay idle so long that a second factor counts no more, until something is proved again.
    lapsed boolean NOT NULL DEFAULT false,
    ended_at timestamptz,
    end_reason text,
    address inet,
    user_agent text NOT NULL,
    PRIMARY KEY (session_id, account_id)
) PARTITION BY RANGE (session_id);
CREATE INDEX session_by_account ON session (account_id);
COMMENT ON TABLE session IS 'shard: account_id. Who is signed in; leaves by the partition after its ceiling.';

CREATE TABLE flow (
    flow_id uuid PRIMARY KEY,
    step integer NOT NULL DEFAULT 1,
    binding_hash bytea NOT NULL,
    state jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    idle_expires_at timestamptz NOT NULL,
    finished_at timestamptz,
    result jsonb
) PARTITION BY RANGE (flow_id);
COMMENT ON TABLE flow IS 'shard: flow_id. One conversation with one browser or app; leaves by the partition.';

CREATE TABLE challenge (
    flow_id uuid NOT NULL,
    challenge_id uuid NOT NULL,
    module text NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('prove', 'enrol')),
    -- What the module needs to check the answer; secrets in it only as hashes.
    body jsonb NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    PRIMARY KEY (flow_id, challenge_id)
) PARTITION BY RANGE (flow_id);
COMMENT ON TABLE challenge IS 'shard: flow_id. What was asked and may be answered once.';

CREATE TABLE limit_bucket (
    bucket_key bytea PRIMARY KEY,
    -- The theoretical arrival time of a generic cell rate limiter: one row, one statement.
    full_at timestamptz NOT NULL
) WITH (fillfactor = 70);
COMMENT ON TABLE limit_bucket IS 'shard: bucket_key. Attempts by whom against whom; keys are keyed hashes.';

CREATE TABLE security_log (
    entry_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    request_id uuid,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (entry_id, subject_id)
) PARTITION BY RANGE (entry_id);
CREATE INDEX security_log_by_subject ON security_log (subject_id, entry_id);
COMMENT ON TABLE security_log IS 'shard: subject_id. What happened, append-only; personal data stand apart.';

CREATE TABLE security_log_personal (
    entry_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    personal jsonb NOT NULL,
    PRIMARY KEY (entry_id, subject_id)
) PARTITION BY RANGE (entry_id);
COMMENT ON TABLE security_log_personal IS 'shard: subject_id. Address and device of an entry, erasable with the person.';

-- Append-only by privilege: whoever runs this, and everybody else, may only add and read.
REVOKE UPDATE, DELETE, TRUNCATE ON security_log FROM PUBLIC, CURRENT_USER;

-- And by trigger, which holds for a superuser too.
CREATE FUNCTION security_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'security_log is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER security_log_append_only BEFORE UPDATE OR DELETE ON security_log
    FOR EACH ROW EXECUTE FUNCTION security_log_is_append_only();
CREATE TRIGGER security_log_no_truncate BEFORE TRUNCATE ON security_log
    FOR EACH STATEMENT EXECUTE FUNCTION security_log_is_append_only();
