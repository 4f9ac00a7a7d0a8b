-- Browsers by which people want to be told that something waits for their decision (Web Push, RFC 8030).
CREATE TABLE push_subscription (
    account_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    -- At the push service of the browser's vendor. Messages are accepted only if they are signed with our key.
    endpoint text NOT NULL,
    -- It ends with the session in which it was made: who signs out is not told there any more.
    session_id uuid NOT NULL,
    user_agent text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, subscription_id),
    UNIQUE (account_id, endpoint)
);
COMMENT ON TABLE push_subscription IS 'shard: account_id. Browsers by which a person is told that something waits.';

-- When an API said that it used up what was approved.
ALTER TABLE approval ADD COLUMN used_at timestamptz;
